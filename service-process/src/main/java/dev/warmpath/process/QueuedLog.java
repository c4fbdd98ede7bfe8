package dev.warmpath.process;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.Appender;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.LoggerFactory;

/**
 * Whoever logs waits for nobody. Between the loggers and whatever the settings make of their lines (console, file, JSON)
 * stands a queue with a thread of its own: a full disk, or a pipe that nobody reads, costs lines, which are counted, and
 * neither heartbeats nor answers. Once it goes on, a line says how many are missing.
 *
 * <p>At an orderly end what is queued is written, within {@value #LONGEST_LAST_WRITE_MILLIS} ms.
 */
public final class QueuedLog {

    /** As many again may be in the hands of the thread that writes. */
    static final int MAX_QUEUED = 4_096;
    static final int LONGEST_LAST_WRITE_MILLIS = 1_000;

    private static final AtomicLong discarded = new AtomicLong();

    private QueuedLog() {}

    /** Lines of this process that were left out. */
    public static long discarded() {
        return discarded.get();
    }

    /** After the logging system has read its settings. Nothing happens with another library than Logback. */
    static void install() {
        if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
            queue(context.getLogger(Logger.ROOT_LOGGER_NAME));
        }
    }

    static void queue(Logger logger) {
        List<Appender<ILoggingEvent>> direct = new ArrayList<>();
        for (Iterator<Appender<ILoggingEvent>> each = logger.iteratorForAppenders(); each.hasNext();) {
            direct.add(each.next());
        }
        direct.removeIf(AsyncAppender.class::isInstance);          // settings of an operator who has his own queue
        for (Appender<ILoggingEvent> appender : direct) {
            var queued = new Queue(logger.getLoggerContext());
            queued.setName("queued-" + appender.getName());
            queued.addAppender(appender);
            queued.start();
            logger.addAppender(queued);                            // a line that comes now is written twice, not lost
            logger.detachAppender(appender);
        }
    }

    /** Logback's own, which does not count what it discards. */
    private static final class Queue extends AsyncAppender {

        /** Guarded by this queue's lock, which makes one step of the question for room and of taking it. */
        private long missing;

        Queue(LoggerContext context) {
            setContext(context);
            setQueueSize(MAX_QUEUED);
            setDiscardingThreshold(0);                             // no level goes before another one
            setNeverBlock(true);
            setMaxFlushTime(LONGEST_LAST_WRITE_MILLIS);
        }

        @Override
        protected synchronized void append(ILoggingEvent event) {
            int needed = missing > 0 ? 2 : 1;
            if (getRemainingCapacity() < needed) {
                missing++;
                discarded.incrementAndGet();
                return;
            }
            if (missing > 0) {
                super.append(gap(missing));
                missing = 0;
            }
            super.append(event);
        }

        private ILoggingEvent gap(long lines) {
            var context = (LoggerContext) getContext();
            return new LoggingEvent(QueuedLog.class.getName(), context.getLogger(QueuedLog.class), Level.WARN,
                    lines + " lines are missing here: the log was too slow", null, null);
        }
    }
}
