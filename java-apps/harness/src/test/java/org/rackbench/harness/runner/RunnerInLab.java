package org.rackbench.harness.runner;

import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** The common setup of tests of a runner with nodes. */
abstract class RunnerInLab {

  @TempDir Path root;
  Bench bench;
  @AutoClose Nodes nodes;

  @BeforeEach
  void makeBench() throws Exception {
    bench = new Bench(root);
    nodes = new Nodes(root.resolve("lab.json"));
  }
}
