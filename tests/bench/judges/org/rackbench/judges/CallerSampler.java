package org.rackbench.judges;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.jmeter.protocol.java.sampler.AbstractJavaSamplerClient;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerContext;
import org.apache.jmeter.samplers.SampleResult;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Lab;
import org.rackbench.harness.api.Setting;

/**
 * JMeter makes the calls of one of the kit's clients, in its own threads, loop and clock, so that
 * both measure the same work. Parameters {@code client} (a class), {@code axis_url}, {@code
 * message_bytes} and {@code pooled}.
 */
public final class CallerSampler extends AbstractJavaSamplerClient {

  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(20);

  private Client client;
  private Caller caller;
  private long seq;

  @Override
  public void setupTest(JavaSamplerContext context) {
    try {
      Class<?> named = Class.forName(context.getParameter("client"));
      client = (Client) named.getConstructor().newInstance();
      client.open(setting(context));
      caller = client.caller(0); // JMeter makes one of these samplers for each thread
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static Setting setting(JavaSamplerContext context) {
    Map<String, Object> constants =
        Map.of(
            "message_bytes", context.getIntParameter("message_bytes"),
            "pooled", Boolean.valueOf(context.getParameter("pooled")));
    Lab lab =
        new Lab() {
          @Override
          public List<String> workers(int count, String key) {
            return List.of(context.getParameter(key));
          }

          @Override
          public String broker(String key) {
            return context.getParameter(key);
          }
        };
    return new Setting("jmeter", Map.of(), constants, 0, 1, CALL_TIMEOUT, lab);
  }

  @Override
  public SampleResult runTest(JavaSamplerContext context) {
    SampleResult sample = new SampleResult();
    try {
      caller.prepare(seq++);
      sample.sampleStart();
      try {
        caller.call();
      } finally {
        sample.sampleEnd();
      }
      sample.setSuccessful(caller.verify().problem() == null);
    } catch (Exception e) {
      sample.setResponseMessage(e.toString());
      sample.setSuccessful(false);
    }
    return sample;
  }

  @Override
  public void teardownTest(JavaSamplerContext context) {
    try {
      caller.close();
      client.close();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
