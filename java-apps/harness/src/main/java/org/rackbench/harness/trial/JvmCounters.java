package org.rackbench.harness.trial;

import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * This JVM's work apart from the calls, in the warm-up and in the measured phase: compiling,
 * loading classes, collecting garbage.
 */
final class JvmCounters implements Observer {

  /**
   * @param nanos {@code System.nanoTime()}; the other values count from the beginning of the JVM
   */
  private record Sample(
      long nanos, long compilerMillis, long classes, long collections, long collectorMillis) {

    static Sample now() {
      return new Sample(
          System.nanoTime(),
          JvmCounters.compilerMillis(),
          ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount(),
          sum(GarbageCollectorMXBean::getCollectionCount),
          sum(GarbageCollectorMXBean::getCollectionTime));
    }

    private static long sum(ToLongFunction<GarbageCollectorMXBean> of) {
      return ManagementFactory.getGarbageCollectorMXBeans().stream()
          .mapToLong(bean -> Math.max(0, of.applyAsLong(bean)))
          .sum();
    }

    Map<String, Object> since(Sample before) {
      return Json.of(
          "elapsed_ns", nanos - before.nanos,
          "compile_ms", compilerMillis - before.compilerMillis,
          "classes_loaded", classes - before.classes,
          "gc_count", collections - before.collections,
          "gc_ms", collectorMillis - before.collectorMillis);
    }
  }

  private final Sample begin = Sample.now();
  private Sample before;
  private Sample after;

  @Override
  public void before() {
    before = Sample.now();
  }

  @Override
  public void after() {
    after = Sample.now();
  }

  /** Returns the milliseconds of the compiler's work; 0 in a JVM without a compiler. */
  static long compilerMillis() {
    CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
    return compiler != null && compiler.isCompilationTimeMonitoringSupported()
        ? compiler.getTotalCompilationTime()
        : 0;
  }

  /** Adds the counters to the result of a trial that has ended its measured phase. */
  void put(Map<String, Object> result) {
    Map<String, Object> measured = after.since(before);
    result.put("phases", Json.of("warmup", before.since(begin), "measure", measured));
    result.put(
        "gc",
        Json.of(
            "count", measured.get("gc_count"),
            "millis", measured.get("gc_ms"),
            "measured_ns", measured.get("elapsed_ns")));
  }
}
