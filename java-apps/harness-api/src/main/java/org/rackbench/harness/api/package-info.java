/**
 * What a client program implements: {@link org.rackbench.harness.api.Client} once and {@link
 * org.rackbench.harness.api.Caller} once for each client thread. The harness gives it a {@link
 * org.rackbench.harness.api.Setting} with the {@link org.rackbench.harness.api.Lab} in it, and gets
 * back an {@link org.rackbench.harness.api.Answer} for each call.
 *
 * <p>One trial of the client {@code sort-jms} with two threads, one warm-up call and one measured
 * call a thread, step by step:
 *
 * <ol>
 *   <li>The runner starts a JVM whose class path is {@code clients/sort-jms/*}. The harness finds
 *       the class of the client {@code sort-jms} there and creates it with its constructor without
 *       arguments.
 *   <li>{@code client.open(setting)}: reads {@code setting.integer("servers")} and {@code
 *       setting.lab().broker("jndi_url")}. If this throws, the trial is {@code failed}.
 *   <li>In each of the two threads, {@code client.caller(0)} and {@code client.caller(1)}: opens a
 *       connection to the broker. If one throws, the trial is {@code failed}.
 *   <li>Warm-up, in each thread once: {@code caller.prepare(seq)} makes the integers of this call;
 *       <b>the clock starts</b>; {@code caller.call()} sends them and waits for the reply; <b>the
 *       clock stops</b>; {@code caller.verify()} compares the reply with the sorted integers and
 *       returns the numbers of bytes. Thread 0 makes call 0 and thread 1 makes call 1.
 *   <li>A warm thread goes on calling until both are warm; these calls do not count. The measured
 *       calls 2 and 3 follow in the same way, without a pause. Each call becomes one row of {@code
 *       calls.csv}. If {@code prepare}, {@code call} or {@code verify} throws, the status of that
 *       row is {@code error} or {@code timeout}; if the answer names a problem, it is {@code
 *       wrong}; else {@code ok}. The thread that is done first goes on calling until the other is
 *       done too; these calls are rows that do not count.
 *   <li>{@code caller.close()} in each thread, then {@code client.close()}. The calls count,
 *       whatever these throw.
 * </ol>
 *
 * <p>A client may divide the time of its calls into {@link org.rackbench.harness.api.Parts}.
 *
 * <p>Only what happens in {@code call()} is measured. What the study does not time, such as making
 * the input or checking the answer, belongs in {@code prepare} and {@code verify}.
 */
package org.rackbench.harness.api;
