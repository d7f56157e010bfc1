package org.rackbench.reference;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.jmeter.protocol.java.sampler.AbstractJavaSamplerClient;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerContext;
import org.apache.jmeter.samplers.SampleResult;
import org.apache.jmeter.util.JMeterUtils;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Lab;
import org.rackbench.harness.api.Setting;

/**
 * JMeter makes the calls of one of rackbench's clients, in its own threads, loop and clock, so that
 * both measure the same work. JMeter's properties say all it needs: {@code client} (a class), what
 * the client asks of its lab, and its constants as {@code constant.NAME}.
 */
public final class CallerSampler extends AbstractJavaSamplerClient {

  private static final String CONSTANT = "constant.";
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(20);

  private Client client;
  private Caller caller;
  private long seq;

  @Override
  public void setupTest(JavaSamplerContext context) {
    try {
      Class<?> named = Class.forName(JMeterUtils.getProperty("client"));
      client = (Client) named.getConstructor().newInstance();
      client.open(setting());
      caller = client.caller(0); // JMeter makes one of these samplers for each thread
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static Setting setting() {
    Lab lab =
        new Lab() {
          @Override
          public List<String> workers(int count, String key) {
            return List.of(JMeterUtils.getProperty(key));
          }

          @Override
          public String broker(String key) {
            return JMeterUtils.getProperty(key);
          }
        };
    return new Setting("jmeter", Map.of(), constants(), 0, 2, 1, CALL_TIMEOUT, lab);
  }

  private static Map<String, Object> constants() {
    Properties properties = JMeterUtils.getJMeterProperties();
    Map<String, Object> constants = new HashMap<>();
    for (String name : properties.stringPropertyNames()) {
      if (name.startsWith(CONSTANT)) {
        constants.put(name.substring(CONSTANT.length()), typed(properties.getProperty(name)));
      }
    }
    return constants;
  }

  private static Object typed(String text) {
    if (text.matches("\\d+")) {
      return Integer.valueOf(text);
    }
    return text.matches("true|false") ? Boolean.valueOf(text) : text;
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
