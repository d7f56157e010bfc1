package org.rackbench.workers.hello;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.axis.Message;
import org.apache.axis.MessageContext;
import org.apache.axis.server.AxisServer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class HelloListenerTest {

  @BeforeAll
  static void nameTheConfiguration() {
    System.setProperty("axis.ServerConfigFile", "hello-listener.wsdd");
  }

  /** The path of a request in Axis's JMS worker, which sees only the body. */
  private static String invoke(String namespace, String argument) throws Exception {
    AxisServer server = new AxisServer();
    MessageContext context = new MessageContext(server);
    context.setTransportName("JMSTransport");
    context.setRequestMessage(
        new Message(
            """
            <s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>
              <h:hello xmlns:h="%s">%s</h:hello></s:Body></s:Envelope>"""
                .formatted(namespace, argument)));
    server.invoke(context);
    return context.getResponseMessage().getSOAPPartAsString();
  }

  @Test
  void findsTheServiceByTheBodysNamespace() throws Exception {
    String answer = invoke("urn:rackbench:hello", "<text>HelloHel</text>");
    assertTrue(answer.contains(">HelloHel</helloReturn>"), answer);
  }

  @Test
  void offersNothingElse() {
    assertThrows(Exception.class, () -> invoke("urn:other", "<text>Hello</text>"));
    assertThrows(
        Exception.class, () -> invoke("http://xml.apache.org/axis/wsdd/", "<text>Hello</text>"));
  }

  private static String refusal(String line) {
    return assertThrows(
            IllegalArgumentException.class, () -> HelloListener.listener(line.split(" ")))
        .getMessage();
  }

  @Test
  void readsItsCommandLine() {
    String good = "--queue hello.rack03 --jndi-url file:///jndi --username u --password-file p";
    assertNotNull(HelloListener.listener(good.split(" ")));
    assertEquals("--queue is missing", refusal(good.replace("--queue hello.rack03 ", "")));
    assertEquals("--nme: unknown option or no value for it", refusal("--nme x"));
  }
}
