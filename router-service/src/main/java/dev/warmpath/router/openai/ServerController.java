package dev.warmpath.router.openai;

import dev.warmpath.router.admission.ServedModelsHealth;
import dev.warmpath.router.completion.RouterDrain;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.info.BuildProperties;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.bind.annotation.RestController;

/**
 * What balancers, platforms and load tools ask a server beside its API, answered as vLLM does: health by the status
 * alone, with no body. It is what readiness says on the management port, also when this router stops.
 */
@RestController
final class ServerController {

    private static final String UNKNOWN = "unknown";

    private final ServedModelsHealth models;
    private final RouterDrain drain;
    private final Version version;

    ServerController(ServedModelsHealth models, RouterDrain drain, ObjectProvider<BuildProperties> build) {
        this.models = models;
        this.drain = drain;
        BuildProperties known = build.getIfAvailable();            // not where Maven has not built these classes
        this.version = new Version(known == null || known.getVersion() == null ? UNKNOWN : known.getVersion());
    }

    /** vLLM's form. */
    record Version(String version) {}

    @GetMapping("/health")
    ResponseEntity<Void> health() {
        return ResponseEntity.status(models.isReady() && !drain.hasBegun()
                ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE).build();
    }

    /** The same, by the name that SageMaker asks by. */
    @RequestMapping(path = "/ping", method = {RequestMethod.GET, RequestMethod.POST})
    ResponseEntity<Void> ping() {
        return health();
    }

    @GetMapping("/version")
    Version version() {
        return version;
    }
}
