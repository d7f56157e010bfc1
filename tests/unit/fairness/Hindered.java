import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * A client of rackbench, named by the constant {@code hinders}, that waits {@code wait_ms} in each
 * of {@code prepare} and {@code verify}.
 */
public final class Hindered implements Client {

  private Client client;
  private long millis;

  @Override
  public void open(Setting setting) throws Exception {
    String name = setting.constants().get("hinders").toString();
    client = Class.forName(name).asSubclass(Client.class).getDeclaredConstructor().newInstance();
    millis = setting.integer("wait_ms");
    client.open(setting);
  }

  @Override
  public Caller caller(int thread) throws Exception {
    Caller caller = client.caller(thread);
    return new Caller() {
      @Override
      public void prepare(long seq) throws Exception {
        Thread.sleep(millis);
        caller.prepare(seq);
        Thread.sleep(millis);
      }

      @Override
      public void call() throws Exception {
        caller.call();
      }

      @Override
      public Answer verify() throws Exception {
        Thread.sleep(millis);
        Answer answer = caller.verify();
        Thread.sleep(millis);
        return answer;
      }

      @Override
      public void close() throws Exception {
        caller.close();
      }
    };
  }

  @Override
  public void close() throws Exception {
    client.close();
  }
}
