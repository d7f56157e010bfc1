package org.rackbench.requestguard;

import java.io.IOException;
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

  private static final Pattern BOUNDARY =
      Pattern.compile(
          ";\\s*boundary=(?:\"([^\"]{1,70})\"|([^\";\\s]{1,70}))", Pattern.CASE_INSENSITIVE);

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
  private int refusal(HttpServletRequest request) {
    if (request.getContentLengthLong() > maximumBytes) {
      return HttpServletResponse.SC_REQUEST_ENTITY_TOO_LARGE;
    }
    if (request.getHeader("Content-Encoding") != null) {
      return HttpServletResponse.SC_UNSUPPORTED_MEDIA_TYPE;
    }
    return isMultipart(request) && boundary(request) == null
        ? HttpServletResponse.SC_BAD_REQUEST
        : 0;
  }

  private static boolean isMultipart(HttpServletRequest request) {
    String type = request.getContentType();
    return type != null && type.strip().regionMatches(true, 0, "multipart/", 0, 10);
  }

  private static String boundary(HttpServletRequest request) {
    Matcher found = BOUNDARY.matcher(request.getContentType());
    if (!found.find()) {
      return null;
    }
    return found.group(1) == null ? found.group(2) : found.group(1);
  }

  private final class Guarded extends HttpServletRequestWrapper {

    private BoundedStream stream;

    Guarded(HttpServletRequest request) {
      super(request);
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
        HttpServletRequest request = (HttpServletRequest) getRequest();
        stream =
            new BoundedStream(
                request.getInputStream(),
                maximumBytes,
                isMultipart(request) ? new PartBounds(boundary(request)) : PartBounds.ofOnePart(),
                System::nanoTime);
      }
      return stream;
    }
  }
}
