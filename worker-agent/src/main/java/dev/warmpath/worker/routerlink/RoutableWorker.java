package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.Registration;
import java.net.URI;

/** What routers are told about this worker; answered by whoever owns the engine. */
public interface RoutableWorker {

    /** @param baseUrl where routers reach this process */
    Registration registration(URI baseUrl);

    /** How busy it is now. Asked once a second per router, from a virtual thread; must not block. */
    WorkerLoad load();
}
