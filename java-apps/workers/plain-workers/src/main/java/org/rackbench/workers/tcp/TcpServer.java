package org.rackbench.workers.tcp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.rackbench.workloads.program.Arguments;
import org.rackbench.workloads.program.ReadyFile;

/**
 * Plain TCP, which the overhead study compares with SOAP. A client sends the reply size once and
 * then requests each reply with a single byte, so that a request is one byte as in the paper;
 * {@link Conversation} describes the frames. The server limits the number of clients, and how long
 * they may be silent or leave their reply unread. When all places are taken, the server disconnects
 * the client that has been connected longest without sending a size. So silent clients cannot lock
 * out others.
 */
public final class TcpServer implements AutoCloseable {

  static final String USAGE =
      """
      usage: java -cp 'tcp-server/*' org.rackbench.workers.tcp.TcpServer --address ADDRESS
                  --port PORT [--ready-file FILE] [--maximum-clients N] [--idle-seconds N]""";

  /** Not 3, which the runner reads as a JVM that ran out of memory. */
  private static final int CANNOT_SERVE = 4;

  private static final int LAST_PORT = 65535;
  private static final int BACKLOG = 200;
  private static final int SWEEPS_PER_BOUND = 4;
  private static final int WAITING_REFUSALS = 64;

  private final ServerSocket socket;
  private final int maximumClients;
  private final Duration idle;
  private final Set<Conversation> conversations = ConcurrentHashMap.newKeySet();
  private final ExecutorService refusals = refusals();

  /** Starts to listen; {@link #run} answers. Port 0 stands for any free port. */
  public TcpServer(InetSocketAddress address, int maximumClients, Duration idle)
      throws IOException {
    this.maximumClients = maximumClients;
    this.idle = idle;
    this.socket = new ServerSocket();
    socket.setReuseAddress(true);
    socket.bind(address, BACKLOG);
  }

  /** Exit status 2: bad usage; 4: the port is not available; 0: ended by a signal. */
  public static void main(String[] args) {
    try {
      Arguments arguments =
          Arguments.parse(
              args, "--address", "--port", ReadyFile.OPTION, "--maximum-clients", "--idle-seconds");
      InetSocketAddress address =
          new InetSocketAddress(
              InetAddress.getByName(arguments.text("--address")),
              arguments.number("--port", LAST_PORT));
      serve(
          address,
          arguments.number("--maximum-clients", 64, 1000),
          Duration.ofSeconds(arguments.number("--idle-seconds", 300, 86_400)),
          ReadyFile.of(arguments));
    } catch (IllegalArgumentException e) {
      System.err.println("tcp-server: " + e.getMessage() + "\n" + USAGE);
      System.exit(2);
    } catch (IOException e) {
      System.err.println(
          "tcp-server: cannot serve: %s; free the port or name another".formatted(e.getMessage()));
      System.exit(CANNOT_SERVE);
    }
  }

  private static void serve(
      InetSocketAddress address, int maximumClients, Duration idle, ReadyFile readyFile)
      throws IOException {
    TcpServer server = new TcpServer(address, maximumClients, idle);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> end(readyFile), "stop"));
    readyFile.write(address.toString());
    System.out.println("tcp-server: ready at " + address);
    server.run();
  }

  private static void end(ReadyFile readyFile) {
    try {
      readyFile.remove();
    } catch (IOException e) {
      System.err.println("tcp-server: " + e.getMessage());
    }
    Runtime.getRuntime().halt(0);
  }

  public int port() {
    return socket.getLocalPort();
  }

  /** Accepts clients until {@link #close}. */
  public void run() throws IOException {
    Thread sweeper = new Thread(this::sweep, "sweeper");
    sweeper.setDaemon(true);
    sweeper.start();
    while (!socket.isClosed()) {
      try {
        accept(socket.accept());
      } catch (SocketException e) {
        if (!socket.isClosed()) {
          throw e;
        }
      }
    }
  }

  private void accept(Socket client) {
    Conversation conversation = new Conversation(client);
    if (conversations.size() >= maximumClients && !makeRoom()) {
      refuse(conversation);
      return;
    }
    conversations.add(conversation);
    Thread thread =
        new Thread(
            () -> {
              try {
                conversation.run();
              } finally {
                conversations.remove(conversation);
              }
            },
            "client " + client.getRemoteSocketAddress());
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Disconnects the client that has been silent longest since it connected. Returns whether there
   * was one.
   */
  private boolean makeRoom() {
    Conversation silent =
        conversations.stream()
            .filter(Conversation::isSilent)
            .min(Comparator.comparingLong(Conversation::began))
            .orElse(null);
    if (silent == null) {
      return false;
    }
    conversations.remove(silent);
    silent.close();
    return true;
  }

  /** Refuses a client in a thread of its own, because a refusal waits briefly for the client. */
  private void refuse(Conversation conversation) {
    try {
      refusals.execute(
          () ->
              conversation.refuse(
                  "%d clients are connected, the maximum; try again later"
                      .formatted(maximumClients)));
    } catch (RejectedExecutionException e) {
      conversation.close(); // too many at once, or the server ends: no refusal is sent
    }
  }

  private static ExecutorService refusals() {
    return new ThreadPoolExecutor(
        1,
        1,
        0,
        TimeUnit.SECONDS,
        new ArrayBlockingQueue<>(WAITING_REFUSALS),
        work -> {
          Thread thread = new Thread(work, "refusals");
          thread.setDaemon(true);
          return thread;
        });
  }

  /**
   * Disconnects idle clients. A read could have a timeout of its own, but a write to a client that
   * reads nothing could not.
   */
  private void sweep() {
    try {
      while (!socket.isClosed()) {
        Thread.sleep(Math.max(1, idle.toMillis() / SWEEPS_PER_BOUND));
        conversations.forEach(conversation -> conversation.closeIfIdle(idle));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
    refusals.shutdown();
    conversations.forEach(Conversation::close);
  }
}
