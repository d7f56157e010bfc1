package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.harness.trial.PlannedTrial;

/** The nodes that serve, by {@code lab.json} with endpoints and by earlier versions. */
class ServingNodesTest {

  /** The node one is broker and worker at once. */
  private static final String ENDPOINTS =
      """
      {"schema": 1,
       "groups": {"broker": ["one"], "stores": ["three"], "workers": ["one", "two"]},
       "endpoints": {
        "one": {"name": "one", "address": "192.0.2.1", "url": "http://192.0.2.1", "jndi_url": "j",
         "services": {
          "broker": {"group": "broker", "jndi_url": "j"},
          "tomcat": {"group": "workers", "url": "http://192.0.2.1"}}},
        "two": {"name": "two", "address": "192.0.2.2", "url": "http://192.0.2.2",
         "services": {"tomcat": {"group": "workers", "url": "http://192.0.2.2"}}},
        "three": {"name": "three", "address": "192.0.2.3", "url": "db://192.0.2.3",
         "services": {"store": {"group": "stores", "url": "db://192.0.2.3"}}}}}""";

  private static final String EARLIER =
      """
      {"schema": 1,
       "broker": {"name": "one", "address": "192.0.2.1", "jndi_url": "j", "services": ["broker"]},
       "workers": [
        {"name": "one", "address": "192.0.2.1", "axis_url": "a", "services": ["tomcat"]},
        {"name": "two", "address": "192.0.2.2", "axis_url": "b", "services": ["tomcat"]}]}""";

  @TempDir private Path directory;

  private LabFile lab(String text) throws IOException {
    return LabFile.read(Files.writeString(directory.resolve("lab.json"), text));
  }

  private static PlannedTrial trial(Object... more) {
    Map<String, Object> line = Json.of("schema", 1, "id", "t1", "client", "noop", "calls", 1);
    line.putAll(Json.of("warmup", 1, "threads", 1, "timeout_s", 60, "seed", 42));
    line.putAll(Json.of("factors", Map.of("one", 1), "constants", Map.of()));
    line.putAll(Json.of(more));
    return PlannedTrial.of(line, "plan.jsonl:1");
  }

  private static List<Arguments> filesWithNeeds() {
    ServingNode one = new ServingNode("one", "192.0.2.1", List.of("broker"));
    ServingNode two = new ServingNode("two", "192.0.2.2", List.of("tomcat"));
    ServingNode three = new ServingNode("three", "192.0.2.3", List.of("store"));
    return List.of(
        arguments(ENDPOINTS, List.of("tomcat", "broker", "store"), List.of(one, two, three)),
        arguments(EARLIER, List.of("tomcat", "broker"), List.of(one, two)));
  }

  @ParameterizedTest
  @MethodSource("filesWithNeeds")
  void aServiceIsSoughtOnTheNodesOfItsGroup(
      String file, List<String> needs, List<ServingNode> expected) throws IOException {
    ServingNodes nodes = new ServingNodes(lab(file));
    assertEquals(expected, nodes.of(trial("needs", needs, "shift", 1)));
    assertTrue(nodes.isOfBroker("broker"));
    assertFalse(nodes.isOfBroker("tomcat"));
  }

  @Test
  void aServiceThatNobodyHasIsRefused() throws IOException {
    for (String text : List.of(ENDPOINTS, EARLIER)) {
      ServingNodes nodes = new ServingNodes(lab(text));
      PlannedTrial trial = trial("needs", List.of("tomcat", "parrot"));
      BadInput e = assertThrows(BadInput.class, () -> nodes.of(trial));
      assertTrue(e.getMessage().contains("no node has the service parrot"), e.getMessage());
    }
  }

  @Test
  void clientsAreToldTheSameByBoth() throws IOException {
    assertEquals(List.of("192.0.2.1", "192.0.2.2"), lab(ENDPOINTS).workers(2, "address"));
    assertEquals(List.of("b"), lab(EARLIER).shifted(1).workers(1, "axis_url"));
    for (String text : List.of(ENDPOINTS, EARLIER)) {
      assertEquals("j", lab(text).broker("jndi_url"));
      assertEquals(List.of("two", "one"), lab(text).shifted(1).workers(2, "name"));
      assertThrows(BadInput.class, () -> lab(text).workers(3, "name"));
    }
  }

  @Test
  void endpointsHaveEachNodeAndEachServiceByName() throws IOException {
    Map<String, Object> told = lab(ENDPOINTS).shifted(1).endpoints();
    assertEquals("http://192.0.2.1", ((Map<?, ?>) told.get("one")).get("url"));
    assertEquals(
        Map.of(
            "node", "two", "address", "192.0.2.2", "group", "workers", "url", "http://192.0.2.2"),
        told.get("tomcat"));
    assertEquals("db://192.0.2.3", ((Map<?, ?>) told.get("store")).get("url"));
    assertEquals("three", ((Map<?, ?>) told.get("store")).get("node"));
  }

  @Test
  void aNodeWithoutAnEndpointIsRefused() throws IOException {
    LabFile lab = lab(ENDPOINTS.replace("\"two\": {", "\"another\": {"));
    BadInput e = assertThrows(BadInput.class, () -> lab.workers(1, "name"));
    assertTrue(e.getMessage().contains("endpoints.two is missing"), e.getMessage());
  }
}
