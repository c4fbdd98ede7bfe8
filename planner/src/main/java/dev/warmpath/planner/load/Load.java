package dev.warmpath.planner.load;

import dev.warmpath.planner.output.Provenance;
import dev.warmpath.workload.Session;
import java.io.IOException;
import java.util.Iterator;

/** Sessions in order of their begin, the same ones each time they are gone through. */
public interface Load {

    /** As tables name it. */
    String name();

    /** From its first session on; by several threads at the same time, each through its own. */
    Sessions open() throws IOException;

    /** What a result that came of it says of it. @param requests that it has, as {@link Survey} counted them */
    Provenance.Input input(long requests) throws IOException;

    /**
     * One way through. What goes wrong while a file is read comes as an {@link java.io.UncheckedIOException}, since
     * what simulates knows of no files.
     */
    interface Sessions extends Iterator<Session>, AutoCloseable {

        /** How far it is, 0 to 1. */
        double share();

        @Override
        void close();
    }
}
