package org.rackbench.reference;

import static io.gatling.javaapi.core.CoreDsl.bodyString;
import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.http.HttpDsl.http;
import static io.gatling.javaapi.http.HttpDsl.status;

import io.gatling.javaapi.core.Simulation;
import java.time.Duration;

/**
 * Users that come at a {@code rate}, evenly, for {@code seconds}: Gatling's open model. Each gets
 * the byte at {@code url}, over connections that they share. What it needs is given as system
 * properties.
 */
public final class Arriving extends Simulation {

  {
    setUp(
            scenario("arriving")
                .exec(
                    http("byte")
                        .get(System.getProperty("url"))
                        .check(status().is(200), bodyString().is("1")))
                .injectOpen(
                    constantUsersPerSec(Integer.getInteger("rate"))
                        .during(Duration.ofSeconds(Integer.getInteger("seconds")))))
        .protocols(http.shareConnections().disableCaching().disableFollowRedirect());
  }
}
