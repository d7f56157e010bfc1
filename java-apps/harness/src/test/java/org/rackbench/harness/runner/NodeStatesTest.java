package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class NodeStatesTest {

  private static final ServingNode NODE =
      new ServingNode("worker1", "127.0.0.1", List.of("tomcat"));

  private static Look look(String tomcat) {
    Look look = new Look(0);
    look.server(NODE, Map.of("services", Map.of("tomcat", Map.of("state", tomcat))));
    return look;
  }

  private static Object since(NodeStates states) {
    Map<?, ?> services = (Map<?, ?>) states.all().get("worker1").get("services");
    return ((Map<?, ?>) services.get("tomcat")).get("since");
  }

  @Test
  void aStateLastsSinceItWasFirstSeen() throws InterruptedException {
    NodeStates states = new NodeStates();
    assertTrue(states.takeOver(look("up")));
    Object first = since(states);
    Thread.sleep(2);
    assertFalse(states.takeOver(look("up")));
    assertEquals(first, since(states));
    assertTrue(states.takeOver(look("down")));
    assertNotEquals(first, since(states));
  }
}
