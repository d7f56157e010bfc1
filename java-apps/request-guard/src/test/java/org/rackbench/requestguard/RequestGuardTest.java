package org.rackbench.requestguard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The boundary by which the parts of a request are counted. */
class RequestGuardTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "multipart/related; type=\"text/xml\"; start=\"<soap>\"; boundary=\"of-part\" | of-part",
        "Multipart/Related;BOUNDARY=abc | abc",
        "multipart/related;start=\"<root*1@a.example>\";type=\"application/xop+xml\";"
            + "boundary=\"uuid:1-2\";start-info=\"text/xml\" | uuid:1-2",
        "multipart/related; boundary=\"----=_Part_0_1.2\"; start=\"<the boundary@b>\"; "
            + "| ----=_Part_0_1.2",
        "multipart/related; start-info=\"text/xml; action=\\\"a\\\"\"; boundary=abc | abc",
      })
  void theBoundaryIsThatOfTheParameter(String type, String boundary) {
    assertEquals(boundary, RequestGuard.boundary(type));
  }

  @Test
  void aLineMayBeFolded() {
    String type = "multipart/related; type=\"text/xml\";\r\n\tboundary=\"----=_Part_0\"";
    assertEquals("----=_Part_0", RequestGuard.boundary(type));
  }

  /** The SOAP stacks read another boundary in these, or would throw. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "multipart/related",
        "multipart/related; boundary=\"\"",
        "multipart/related; boundary=a; boundary=b",
        "multipart/related; boundary=\"a\"; type=\"text/xml\"; Boundary=\"b\"",
        "multipart/related; boundary=a; boundary = b",
        "multipart/related; boundary=a; boundary*=us-ascii''b",
        "multipart/related; boundary=a; (comment) boundary=b",
        "multipart/related; boundary=(comment)b",
        "multipart/related; boundary=a (comment); boundary=b",
        "multipart/related; start=\"; boundary=a\"",
        "multipart/related; start=\"; boundary=a;\"",
        "multipart/related; boundary=\"a\\b\"",
        "multipart/related; boundary=\"a\"b",
        "multipart/related (; boundary=a",
      })
  void aBoundaryThatParsersDoNotReadAlikeIsNone(String type) {
    assertNull(RequestGuard.boundary(type));
  }

  @Test
  void aBoundaryIsAsLongAsItMayBeAndNoLonger() {
    String type = "multipart/related; boundary=\"%s\"";
    assertEquals("b".repeat(70), RequestGuard.boundary(type.formatted("b".repeat(70))));
    assertNull(RequestGuard.boundary(type.formatted("b".repeat(71))));
  }

  @Test
  void aTypeOfThousandsOfParametersIsRead() {
    String type = "multipart/related" + "; a=b".repeat(10_000) + "; c=\"" + "\\\"".repeat(10_000);
    assertEquals("d", RequestGuard.boundary(type + "\"; boundary=d"));
  }
}
