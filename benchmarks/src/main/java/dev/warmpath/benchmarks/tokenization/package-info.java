/**
 * What text costs on its way to token ids and back. Built and run from the repository's root with
 * <pre>
 *   mvn -q -B -pl benchmarks -am package dependency:build-classpath -DskipTests -Dmdep.outputFile=target/classpath
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) org.openjdk.jmh.Main tokenization -prof gc
 * </pre>
 */
@NullMarked
package dev.warmpath.benchmarks.tokenization;

import org.jspecify.annotations.NullMarked;
