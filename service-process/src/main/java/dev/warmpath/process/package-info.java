/**
 * What router and worker share as processes: {@link dev.warmpath.process.ServiceProcess} starts one under the rules of its
 * end ({@link dev.warmpath.protocol.process.ProcessEnd}) and with a log that holds nobody up
 * ({@link dev.warmpath.process.QueuedLog}), and only with settings that there are
 * ({@code UnknownSettingsException}); {@link dev.warmpath.process.EventLoopGuard} ends it when its server can answer
 * nobody any more. What both say of themselves to operators: that the start is over ({@code StartedHealth}), and by a
 * hash which settings are in force ({@code SettingsInfo}); and whom both let change them
 * ({@link dev.warmpath.process.ManagementProperties}).
 * <p>Uses Spring, Netty, Logback, {@code protocol.process} and {@code protocol.fleet} for the tokens. Used by the two {@code main}.
 */
@NullMarked
package dev.warmpath.process;

import org.jspecify.annotations.NullMarked;
