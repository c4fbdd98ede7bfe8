/**
 * What a decision of the router costs, from the hashed prompt to the booking at a worker. Built and run from the
 * repository's root with
 * <pre>
 *   mvn -q -B -pl benchmarks -am package dependency:build-classpath -DskipTests -Dmdep.outputFile=target/classpath
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main benchmarks.routing -prof gc
 * </pre>
 */
@NullMarked
package dev.warmpath.benchmarks.routing;

import org.jspecify.annotations.NullMarked;
