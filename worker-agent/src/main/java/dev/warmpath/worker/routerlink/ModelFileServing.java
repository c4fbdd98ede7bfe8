package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.Protocol;
import org.springframework.core.io.Resource;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/** Gives out the model's listed files by digest, and nothing else: a name in the path is never a path. */
public final class ModelFileServing {

    private static final String DIGEST = "sha256";

    private final ModelFiles files;

    public ModelFileServing(ModelFiles files) {
        this.files = files;
    }

    /** The route to be served on the worker's port, behind {@link FleetGate}. */
    public RouterFunction<ServerResponse> routes() {
        return RouterFunctions.route().GET(Protocol.FILES_PATH + "{" + DIGEST + "}", this::file).build();
    }

    private Mono<ServerResponse> file(ServerRequest request) {
        Resource file = files.file(request.pathVariable(DIGEST));
        if (file == null) {
            return Problems.answer(HttpStatus.NOT_FOUND, "no file of this worker's model has that digest");
        }
        return ServerResponse.ok()
                .contentType(MediaType.APPLICATION_OCTET_STREAM)
                .bodyValue(file);
    }
}
