package org.rackbench.clients.axis;

import java.util.Locale;
import org.apache.axis.client.Call;

/** The encodings of a matrix, which are the levels of the study. */
enum MatrixEncoding {
  XML("Matrix", false, null),
  XML_MULTIREF("MatrixMultiRef", true, null),
  MIME("MatrixAttachment", true, Call.ATTACHMENT_ENCAPSULATION_FORMAT_MIME),
  DIME("MatrixAttachment", true, Call.ATTACHMENT_ENCAPSULATION_FORMAT_DIME);

  final String service;
  final boolean axisDefaults;
  final String attachment;

  /**
   * @param axisDefaults whether elements have multi-references and types, as by Axis's defaults
   * @param attachment Axis's name for the format of attachments, or null for none
   */
  MatrixEncoding(String service, boolean axisDefaults, String attachment) {
    this.service = service;
    this.axisDefaults = axisDefaults;
    this.attachment = attachment;
  }

  static MatrixEncoding of(String level) {
    return valueOf(level.toUpperCase(Locale.ROOT).replace('-', '_'));
  }
}
