package org.rackbench.harness.runner;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.rackbench.harness.trial.Trial;

/**
 * The figures that prove a sealed file. The file is read in pieces, because a log of a million
 * calls is larger than the runner's heap.
 *
 * @param lines number of line ends in the file
 * @param timeouts number of lines that end like those of calls that were cut off
 * @param sha256 of its bytes, in hexadecimal digits
 */
record FileSeal(long lines, long timeouts, String sha256) {

  private static final int PIECE_BYTES = 1 << 16;

  private static final byte[] TIMEOUT =
      ("," + Trial.TIMEOUT + "\n").getBytes(StandardCharsets.US_ASCII);

  static FileSeal of(Path file) throws IOException {
    MessageDigest digest;
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java platform has it
    }
    byte[] piece = new byte[PIECE_BYTES];
    long lines = 0;
    long timeouts = 0;
    int matched = 0;
    try (InputStream bytes = Files.newInputStream(file)) {
      for (int read = bytes.read(piece); read >= 0; read = bytes.read(piece)) {
        digest.update(piece, 0, read);
        for (int i = 0; i < read; i++) {
          lines += piece[i] == '\n' ? 1 : 0;
          matched = piece[i] == TIMEOUT[matched] ? matched + 1 : piece[i] == TIMEOUT[0] ? 1 : 0;
          if (matched == TIMEOUT.length) {
            timeouts++;
            matched = 0;
          }
        }
      }
    }
    return new FileSeal(lines, timeouts, HexFormat.of().formatHex(digest.digest()));
  }

  /** Returns the lines without the header line. */
  long rows() {
    return lines - 1;
  }
}
