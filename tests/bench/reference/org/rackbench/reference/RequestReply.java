package org.rackbench.reference;

import static io.gatling.javaapi.core.CoreDsl.atOnceUsers;
import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.core.CoreDsl.nothingFor;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.jms.JmsDsl.jms;
import static io.gatling.javaapi.jms.JmsDsl.jmsJndiConnectionFactory;
import static io.gatling.javaapi.jms.JmsDsl.simpleCheck;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.PopulationBuilder;
import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import io.gatling.javaapi.jms.JmsProtocolBuilder;
import jakarta.jms.BytesMessage;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.IntStream;

/**
 * Users that each send a request, wait for its reply and send the next, for {@code seconds}; they
 * share {@code connections}. With a {@code rate} (its open model) users come so many a second, over
 * all connections together, and each sends one request. What it needs is given as system
 * properties.
 */
public final class RequestReply extends Simulation {

  private static final String FILE_STORE = "com.sun.jndi.fscontext.RefFSContextFactory";

  private final int bytes = Integer.getInteger("bytes");
  private final int connections = Integer.getInteger("connections");
  private final int rate = Integer.getInteger("rate", 0);
  private final Duration length = Duration.ofSeconds(Integer.getInteger("seconds"));

  {
    setUp(IntStream.range(0, connections).mapToObj(this::sharing).toList());
  }

  /** Users of one connection: Gatling makes one for each protocol with a factory of its own. */
  private PopulationBuilder sharing(int number) {
    ScenarioBuilder users = scenario("connection " + number);
    PopulationBuilder coming;
    if (rate > 0) {
      Duration first = Duration.ofNanos(Math.round(number * 1e9 / rate)); // one after the other
      double each = (double) rate / connections;
      coming =
          users
              .exec(request())
              .injectOpen(nothingFor(first), constantUsersPerSec(each).during(length));
    } else {
      int together = Integer.getInteger("threads") / connections;
      coming = users.during(length).on(request()).injectOpen(atOnceUsers(together));
    }
    return coming.protocols(protocol());
  }

  private ChainBuilder request() {
    return exec(
        jms("request")
            .requestReply()
            .queue(System.getProperty("matrix_queue"))
            .bytesMessage(new byte[bytes])
            .check(simpleCheck(this::isWhole)));
  }

  private JmsProtocolBuilder protocol() {
    return jms.connectionFactory(
            jmsJndiConnectionFactory
                .connectionFactoryName(System.getProperty("connection_factory"))
                .url(System.getProperty("jndi_url"))
                .contextFactory(FILE_STORE))
        .credentials(System.getProperty("username"), password())
        .usePersistentDeliveryMode()
        .matchByCorrelationId()
        .replyTimeout(Duration.ofSeconds(20));
  }

  private static String password() {
    try {
      return Files.readString(Path.of(System.getProperty("password_file"))).strip();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private boolean isWhole(Message reply) {
    try {
      return ((BytesMessage) reply).getBodyLength() == bytes;
    } catch (JMSException e) {
      return false;
    }
  }
}
