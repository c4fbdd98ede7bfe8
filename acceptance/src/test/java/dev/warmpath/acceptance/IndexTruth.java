package dev.warmpath.acceptance;

import dev.warmpath.acceptance.Gateway.AnnouncedSet;
import java.util.List;
import java.util.Map;

/** What the routers' indexes say, held against what each worker itself announces. */
final class IndexTruth {

    private IndexTruth() {}

    /** Waits, with no traffic, until each router has of each worker exactly what the worker says that it holds. */
    static void awaitEqual(List<Gateway> routers, int workerCount) {
        try {
            Await.until("every index equals the workers' sets",
                    () -> routers.stream().allMatch(router -> isEqual(router, workerCount)));
        } catch (AssertionError e) {
            var difference = new StringBuilder(e.getMessage());
            for (Gateway router : routers) {
                difference.append("\nindex ").append(router.indexCopies()).append("\ntruth ").append(router.trueSets());
            }
            throw new AssertionError(difference.toString(), e);
        }
    }

    private static boolean isEqual(Gateway router, int workerCount) {
        Map<String, AnnouncedSet> copies = router.indexCopies();
        return copies.size() == workerCount && copies.equals(router.trueSets());
    }
}
