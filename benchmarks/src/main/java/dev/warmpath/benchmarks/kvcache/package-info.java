/**
 * What the block manager costs per block: time, allocation and memory. Built and run from the repository's root with
 * <pre>
 *   mvn -q -B -pl benchmarks -am package dependency:build-classpath -DskipTests -Dmdep.outputFile=target/classpath
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) org.openjdk.jmh.Main kvcache -prof gc
 * </pre>
 * Other work on the machine only ever makes a figure worse: of several runs the best one counts, and a claim about
 * two things compares them within one run. Where the machine is never quiet, the median of single calls
 * ({@code -bm sample}) says more than the average.
 */
@NullMarked
package dev.warmpath.benchmarks.kvcache;

import org.jspecify.annotations.NullMarked;
