package org.rackbench.requestguard;

import java.io.IOException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.servlet.Filter;
import javax.servlet.FilterChain;
import javax.servlet.ServletException;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletRequestWrapper;
import javax.servlet.http.HttpServletResponse;

/**
 * Limits the cost of one request before a SOAP stack reads it: its length, as announced and as
 * received; its parts, if it has several; and the time it takes to arrive. It refuses compressed
 * bodies.
 */
public final class RequestGuard implements Filter {

  /** A SOAP stack needs heap of many times the length of a request. */
  private static final int HEAP_SHARE = 16;

  private static final Pattern MULTIPART =
      Pattern.compile("\\s*multipart/[\\w.+-]+", Pattern.CASE_INSENSITIVE);

  /** A parameter of a type, without comments and spaces, which some parsers skip. */
  private static final Pattern PARAMETER =
      Pattern.compile(
          "\\G\\s*;\\s*([^\\s=;\"()\\\\]+)=(?:\"((?:[^\"\\\\]|\\\\.)*+)\"|([^\\s;\"()\\\\]+))");

  private static final Pattern END = Pattern.compile("\\s*;?\\s*");

  private static final String BOUNDARY = "boundary";

  /**
   * A boundary that every parser reads alike, of the length that RFC 2046, section 5.1.1, allows.
   */
  private static final Pattern PLAIN = Pattern.compile("[^\\s\\\\]{1,70}");

  private final long maximumBytes = Runtime.getRuntime().maxMemory() / HEAP_SHARE;

  @Override
  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    Guarded guarded = new Guarded((HttpServletRequest) request);
    int refusal = refusal(guarded);
    try {
      if (refusal > 0) {
        ((HttpServletResponse) response).sendError(refusal);
      } else {
        chain.doFilter(guarded, response);
      }
    } finally {
      // Tomcat itself would go on reading while anything arrives, however slowly.
      guarded.drain();
    }
  }

  /** Returns the HTTP status for a request that is refused unread, or 0. */
  private int refusal(Guarded request) {
    if (request.getContentLengthLong() > maximumBytes) {
      return HttpServletResponse.SC_REQUEST_ENTITY_TOO_LARGE;
    }
    if (request.getHeader("Content-Encoding") != null) {
      return HttpServletResponse.SC_UNSUPPORTED_MEDIA_TYPE;
    }
    return request.isMultipart && request.boundary == null ? HttpServletResponse.SC_BAD_REQUEST : 0;
  }

  private static boolean isMultipart(String type) {
    return type != null && type.strip().regionMatches(true, 0, "multipart/", 0, 10);
  }

  /**
   * Returns the boundary of a multipart type. It is null if there is none, and also if a SOAP stack
   * might read another one, so that the parts would pass uncounted: of two boundaries the stacks
   * take the last one, and a quoted one is none to them.
   */
  static String boundary(String type) {
    Matcher multipart = MULTIPART.matcher(type);
    if (!multipart.lookingAt()) {
      return null;
    }
    String boundary = "";
    int end = multipart.end();
    Matcher parameter = PARAMETER.matcher(type).region(end, type.length());
    while (parameter.find()) {
      end = parameter.end();
      String name = parameter.group(1).toLowerCase(Locale.ROOT);
      if (name.startsWith(BOUNDARY)) { // also "boundary*", in the encoding of RFC 2231
        if (!boundary.isEmpty() || !name.equals(BOUNDARY)) {
          return null;
        }
        boundary = parameter.group(2) == null ? parameter.group(3) : parameter.group(2);
      }
    }
    boolean isWhole = END.matcher(type).region(end, type.length()).matches();
    return isWhole && PLAIN.matcher(boundary).matches() ? boundary : null;
  }

  private final class Guarded extends HttpServletRequestWrapper {

    private final boolean isMultipart;
    private final String boundary;
    private BoundedStream stream;

    Guarded(HttpServletRequest request) {
      super(request);
      isMultipart = isMultipart(request.getContentType());
      boundary = isMultipart ? boundary(request.getContentType()) : null;
    }

    void drain() throws IOException {
      long announced = getContentLengthLong();
      boolean isChunked = announced < 0 && getHeader("Transfer-Encoding") != null;
      if (isChunked || announced > 0 && announced <= BoundedStream.MOST_DRAINED) {
        getInputStream().drain();
      }
    }

    @Override
    public BoundedStream getInputStream() throws IOException {
      if (stream == null) {
        stream =
            new BoundedStream(
                getRequest().getInputStream(),
                maximumBytes,
                boundary == null ? PartBounds.ofOnePart() : new PartBounds(boundary),
                System::nanoTime);
      }
      return stream;
    }
  }
}
