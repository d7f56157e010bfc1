package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileSealTest {

  @TempDir Path root;

  @Test
  void callsThatWereCutOffAreCounted() throws Exception {
    String rows = "head\n1,timeout,5\n2,,timeout\n3,ok\n4,timeoutt\n5,timeout\n";
    FileSeal seal = FileSeal.of(Files.writeString(root.resolve("calls.csv"), rows));
    assertEquals(2, seal.timeouts());
    assertEquals(5, seal.rows());
  }

  @Test
  void alsoWhereTheRowLiesAcrossTwoPieces() throws Exception {
    for (int before = 65_530; before <= 65_540; before++) {
      String rows = "x".repeat(before) + ",timeout\n";
      FileSeal seal = FileSeal.of(Files.writeString(root.resolve("calls.csv"), rows));
      assertEquals(1, seal.timeouts(), before + " bytes before it");
    }
  }
}
