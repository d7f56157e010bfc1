package org.rackbench.clients.jakartajms;

import jakarta.jms.JMSException;
import jakarta.jms.Message;
import java.io.IOException;
import java.time.Duration;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.matrix.Matrices;
import org.rackbench.workloads.matrix.MatrixBytes;

/**
 * One client thread's matrices. The call includes turning the matrix into bytes and back, but not
 * creating the matrix.
 */
final class MatrixJmsCaller extends QueueCaller {

  private final Setting setting;
  private final String queue;
  private final int n;
  private String id;
  private float[][] matrix;
  private float[][] answer;

  MatrixJmsCaller(Setting setting, RequestQueue queue) throws JMSException {
    super(setting, queue);
    this.setting = setting;
    this.queue = queue.name();
    this.n = Matrices.checkedSize(setting.integer("matrix"));
    tryConnection();
  }

  @Override
  void makeInput(long seq) {
    id = Long.toString(seq);
    answer = null;
    matrix = Matrices.random(n, setting.seed(), seq, setting.drawing());
  }

  @Override
  int sendAll() throws JMSException, IOException {
    send(request(MatrixBytes.encode(matrix), id));
    return 1;
  }

  @Override
  int awaited(String correlationId) {
    return id.equals(correlationId) ? 0 : -1;
  }

  @Override
  void take(int number, Message reply, byte[] body) throws IOException {
    answer = MatrixBytes.decode(body);
  }

  @Override
  String overdue(Duration timeout) {
    return "no answer to %s within %s; look at the journal of rackbench-matrix-worker"
        .formatted(queue, timeout);
  }

  @Override
  String problem() {
    return Matrices.problem(answer, matrix);
  }
}
