package org.rackbench.harness.runner;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.rackbench.harness.trial.Json;

/** A broker and two workers, as their health sockets report them; worker k is at 127.0.0.k. */
final class Nodes implements AutoCloseable {

  private static final String PASSWORD = "a password";

  /** Key of a service that works: the start of its work. */
  private static final String SINCE = "since_ns";

  private final Map<String, Map<String, Object>> services = new TreeMap<>();
  private final Map<String, HttpServer> sockets = new TreeMap<>();
  private final int port;
  private volatile boolean flapping;
  private volatile boolean restarting;
  private int invocations;
  private final List<String> newStarts = new ArrayList<>();
  private final Map<String, Integer> requestsLeft = new TreeMap<>();
  private final Map<String, Map<String, Object>> used = new TreeMap<>();
  private final Map<String, List<Long>> sampledAt = new ConcurrentHashMap<>();
  private final Map<String, Integer> looks = new TreeMap<>();
  private volatile int sampleMillis;
  private volatile boolean hidesProcessorTime;
  private volatile boolean keptConnection;
  private volatile Map<String, Object> kernel = Map.of();
  private final Map<String, List<String>> asked = new ConcurrentHashMap<>();

  /** Starts all sockets and describes the lab in {@code lab}. */
  Nodes(Path lab) throws IOException {
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    for (int worker = 1; worker <= 2; worker++) {
      begin("tomcat on worker" + worker);
      begin("sort-worker on worker" + worker);
      open("worker" + worker);
    }
    List<Object> workers = new ArrayList<>();
    for (String name : List.of("worker1", "worker2")) {
      workers.add(
          Json.of(
              "name", name,
              "address", address(name),
              "services", List.of("tomcat", "sort-worker")));
    }
    Files.write(
        lab,
        Json.bytes(
            Json.of(
                "schema",
                1,
                "health_port",
                port,
                "restart_password_file",
                Files.writeString(lab.resolveSibling("restart.password"), PASSWORD + "\n")
                    .toString(),
                "client",
                Map.of("name", "worker1", "address", address("worker1")),
                "workers",
                workers)));
  }

  /** Makes the node answer from now on. */
  synchronized void open(String node) throws IOException {
    HttpServer socket = HttpServer.create(new InetSocketAddress(address(node), port), 0);
    socket.createContext("/sample", exchange -> sample(node, exchange));
    socket.createContext("/", exchange -> answer(node, exchange));
    socket.start();
    sockets.put(node, socket);
  }

  /** Makes the node go away. */
  synchronized void shut(String node) {
    sockets.remove(node).stop(0);
  }

  /** Makes a {@code service on node} appear as if it had just started. */
  synchronized void begin(String service) {
    Map<String, Object> known = services.computeIfAbsent(service, name -> new TreeMap<>());
    known.put("state", "up");
    known.put("invocation", "start-" + ++invocations);
    known.put("profiled", false);
    known.putIfAbsent("ends", 0);
    known.put("cpu_us", 0L);
    known.remove(SINCE);
  }

  /** Makes it use a whole processor from now on, until it rests or ends. */
  synchronized void work(String service) {
    services.get(service).put(SINCE, System.nanoTime());
  }

  synchronized void rest(String service) {
    services.get(service).put("cpu_us", used(services.get(service)));
    services.get(service).remove(SINCE);
  }

  private static long used(Map<String, Object> service) {
    Object since = service.get(SINCE);
    long micros = since == null ? 0 : (System.nanoTime() - (long) since) / 1000;
    return (long) service.get("cpu_us") + micros;
  }

  /** Gives the kernels of all nodes these values. */
  void setKernel(Map<String, Object> values) {
    kernel = values;
  }

  /** Makes the nodes a version that does not report the processor time of services. */
  void hideProcessorTime() {
    hidesProcessorTime = true;
  }

  /** Returns whether any connection asked to stay open; a timeout would close it in a trial. */
  boolean keptConnection() {
    return keptConnection;
  }

  /** Returns the requests to a node, as paths with queries. */
  List<String> asked(String node) {
    return asked.getOrDefault(node, List.of());
  }

  private void note(String node, HttpExchange exchange) {
    keptConnection |= !"close".equals(exchange.getRequestHeaders().getFirst("Connection"));
    String uri = exchange.getRequestURI().toString();
    asked.computeIfAbsent(node, name -> new CopyOnWriteArrayList<>()).add(uri);
  }

  /** Ends a service; {@code how} is systemd's result, code and status. */
  synchronized void end(String service, String how) {
    Map<String, Object> known = services.get(service);
    String[] words = how.split(" ");
    known.put(
        "ended",
        Json.of(
            "invocation", known.get("invocation"),
            "result", words[0],
            "code", words[1],
            "status", words[2]));
    known.put("ends", (int) known.get("ends") + 1);
    known.put("state", "down");
    known.put("invocation", null);
  }

  synchronized void silence(String service) {
    services.get(service).put("state", "silent");
  }

  /** Restarts every service before every request from now on. */
  void flap() {
    flapping = true;
  }

  /** Restarts Tomcat of {@code node} right before the request to the node with this number. */
  synchronized void restartBeforeRequest(String node, int request) {
    requestsLeft.put(node, request);
  }

  /** Makes nodes restart a service on request from now on. */
  void restart() {
    restarting = true;
  }

  /** Makes the node a version that samples, with these samples. */
  synchronized void use(String node, Map<String, Object> told) {
    used.put(node, told);
  }

  /** Returns the times of requests for a sample at once, in nanoseconds of System.nanoTime. */
  List<Long> sampledAt(String node) {
    return sampledAt.getOrDefault(node, List.of());
  }

  /** Returns the number of health checks of the node. */
  synchronized int looks(String node) {
    return looks.getOrDefault(node, 0);
  }

  /** Makes each requested sample take the node this many milliseconds from now on. */
  void sampleIn(int millis) {
    sampleMillis = millis;
  }

  private void sample(String node, HttpExchange exchange) throws IOException {
    note(node, exchange);
    long now = System.nanoTime();
    sampledAt.computeIfAbsent(node, name -> new CopyOnWriteArrayList<>()).add(now);
    try {
      Thread.sleep(sampleMillis);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    send(exchange, Map.of("sampled_ns", now));
  }

  /** Leaves the profiler in a {@code service on node}, like a runner that was killed. */
  synchronized void leaveProfiler(String service) {
    services.get(service).put("profiled", true);
  }

  /** Returns each {@code service on node} that was restarted by a signed request. */
  synchronized List<String> newStarts() {
    return List.copyOf(newStarts);
  }

  private int startAnew(String node, HttpExchange exchange) throws IOException {
    byte[] body = exchange.getRequestBody().readAllBytes();
    if (!signature(body).equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
      return 403;
    }
    Map<?, ?> asked = (Map<?, ?>) Json.parse(new String(body), "request").get("restart");
    for (Map.Entry<?, ?> start : asked.entrySet()) {
      String service = start.getKey() + " on " + node;
      if (!start.getValue().equals(services.get(service).get("invocation"))) {
        return 409;
      }
      end(service, "success exited 143");
      begin(service);
      newStarts.add(service);
    }
    return 202;
  }

  /** Starts or stops the profiler in the services of a signed request, like the health service. */
  private byte[] profile(String node, HttpExchange exchange) throws IOException {
    byte[] body = exchange.getRequestBody().readAllBytes();
    Map<String, Object> asked = Json.parse(new String(body), "request");
    Map<String, Object> said = new TreeMap<>();
    for (Object service : ((Map<?, ?>) asked.get("profile")).keySet()) {
      services.get(service + " on " + node).put("profiled", true);
      Map<String, Object> found = Json.of("event", "ctimer", "interval_ns", 2000000, "missing", "");
      if (asked.get("action").equals("stop")) {
        found.put("stacks", "a.b;c.d 2000000\n");
        found.put("page", "<html></html>");
        found.put("recording", "RkxSAA==");
      }
      said.put(service.toString(), found);
    }
    boolean isSigned =
        signature(body).equals(exchange.getRequestHeaders().getFirst("Authorization"));
    return isSigned ? Json.bytes(Json.of("services", said)) : new byte[0];
  }

  private static String signature(byte[] body) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(PASSWORD.getBytes(), "HmacSHA256"));
      return HexFormat.of().formatHex(mac.doFinal(body));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  private synchronized void answer(String node, HttpExchange exchange) throws IOException {
    note(node, exchange);
    String path = exchange.getRequestURI().getPath();
    if (path.equals("/restart")) {
      exchange.sendResponseHeaders(startAnew(node, exchange), -1);
      exchange.close();
      return;
    }
    if (path.equals("/profile")) {
      byte[] said = profile(node, exchange);
      exchange.sendResponseHeaders(said.length > 0 ? 200 : 403, said.length);
      exchange.getResponseBody().write(said);
      exchange.close();
      return;
    }
    if (restarting && path.startsWith("/restart/")) {
      String service = path.substring("/restart/".length()) + " on " + node;
      end(service, "signal killed KILL");
      begin(service);
    }
    if (requestsLeft.merge(node, -1, Integer::sum) == 0) {
      end("tomcat on " + node, "signal killed KILL");
      begin("tomcat on " + node);
    }
    if (path.equals("/resources")) {
      send(exchange, used.get(node));
      return;
    }
    if (path.equals("/settings")) {
      Map<String, Object> told = Json.of("tomcat", Map.of("threads", "200"), "node", kernel);
      send(exchange, Map.of("settings", told));
      return;
    }
    looks.merge(node, path.equals("/") ? 1 : 0, Integer::sum);
    Map<String, Object> mine = new TreeMap<>();
    for (String service : List.of("tomcat", "sort-worker")) {
      if (flapping) {
        end(service + " on " + node, "signal killed KILL");
        begin(service + " on " + node);
      }
      Map<String, Object> told = new TreeMap<>(services.get(service + " on " + node));
      told.put("cpu_us", hidesProcessorTime ? null : used(told));
      mine.put(service, told);
    }
    send(
        exchange,
        Json.of(
            "schema",
            1,
            "services",
            mine,
            "now_ns",
            System.nanoTime(),
            "disk_free_mb",
            5000,
            "machine",
            Map.of("load1", 0.5, "cpu_ticks", 100, "steal_ticks", 1),
            "sampled_ns",
            used.containsKey(node) ? 1L : null));
  }

  private static void send(HttpExchange exchange, Map<String, Object> told) throws IOException {
    byte[] body = Json.bytes(told);
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  private static String address(String node) {
    return "127.0.0." + node.substring(node.length() - 1);
  }

  @Override
  public synchronized void close() {
    sockets.values().forEach(socket -> socket.stop(0));
  }
}
