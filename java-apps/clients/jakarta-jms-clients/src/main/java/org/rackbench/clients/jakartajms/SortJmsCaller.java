package org.rackbench.clients.jakartajms;

import jakarta.jms.BytesMessage;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.rackbench.harness.api.Setting;
import org.rackbench.jakartajms.QueueWorker;
import org.rackbench.workloads.sorting.IntBytes;
import org.rackbench.workloads.sorting.SortJob;
import org.rackbench.workloads.sorting.SortQueues;

/** One client thread's jobs: one request to the pool's queue for each of the pool's workers. */
final class SortJmsCaller extends QueueCaller {

  private final Setting setting;
  private final List<String> pool;
  private final int integers;
  private SortJob job;
  private long seq;
  private int[][] answers;
  private int[] merged;
  private Set<String> workers;

  /**
   * @param pool names of the workers, in the order of the parts
   */
  SortJmsCaller(Setting setting, RequestQueue queue, List<String> pool) throws JMSException {
    super(setting, queue);
    this.setting = setting;
    this.pool = pool;
    this.integers = setting.integer("integers");
    tryConnection();
  }

  @Override
  void makeInput(long call) {
    seq = call;
    job = new SortJob(setting.seed(), call, setting.drawing(), integers, pool.size());
    answers = new int[pool.size()][];
    merged = null;
    workers = new HashSet<>();
  }

  @Override
  int sendAll() throws JMSException {
    int[][] parts = job.split();
    for (int part = 0; part < pool.size(); part++) {
      BytesMessage request = request(IntBytes.encode(parts[part]), seq + "-" + part);
      request.setStringProperty(SortQueues.WORKER, pool.get(part));
      send(request);
    }
    return pool.size();
  }

  @Override
  int awaited(String correlationId) {
    String[] id = correlationId.split("-");
    return Long.parseLong(id[0]) == seq ? Integer.parseInt(id[1]) : -1;
  }

  @Override
  void take(int number, Message reply, byte[] body) throws JMSException {
    answers[number] = IntBytes.decode(body);
    workers.add(reply.getStringProperty(QueueWorker.WORKER));
  }

  @Override
  void finish() {
    merged = SortJob.merge(answers);
  }

  @Override
  String overdue(Duration timeout) {
    return "%d of %d parts came back within %s".formatted(workers.size(), pool.size(), timeout);
  }

  @Override
  String problem() {
    return workers.size() < pool.size()
        ? "%d parts were sorted by %s alone".formatted(pool.size(), workers)
        : job.problem(answers, merged);
  }
}
