# The worker, which computes on processors (target worker) or on NVIDIA's cards (target cuda). The context is the root
# of the repository, where Maven has packed the services: `./warmpath images`. Nothing is fetched but the images named
# here; no stage but the first has a shell, so commands are lists.
ARG JDK_IMAGE=docker.io/library/eclipse-temurin:25-jdk
# glibc, libstdc++ and libgcc_s, a user 65532, and nothing else
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian13:nonroot
# for one of its libraries; the kernels are in the jar
ARG CUDA_IMAGE=docker.io/nvidia/cuda:12.9.1-runtime-ubuntu24.04

FROM ${JDK_IMAGE} AS build
WORKDIR /build
COPY images/jdk.options ./
RUN ["jlink", "@jdk.options", "--output", "/opt/java"]
COPY images/Training.java ./
RUN ["javac", "-d", "training", "Training.java"]
COPY worker-agent/target/worker-agent-app.jar ./
RUN ["java", "-Djarmode=tools", "-jar", "worker-agent-app.jar", "extract", "--layers", "--destination", "layers"]

FROM ${RUNTIME_IMAGE} AS service
COPY --from=build /opt/java /opt/java
COPY models/warmpath-tiny /models/warmpath-tiny
# from what changes least to what changes most
COPY --from=build /build/layers/dependencies/ /build/layers/spring-boot-loader/ /app/
COPY --from=build /build/layers/snapshot-dependencies/ /build/layers/application/ /app/
COPY images/worker.options /app/
ENV JAVA_HOME=/opt/java PATH=/opt/java/bin LANG=C.UTF-8 WARMPATH_MODEL_DIRECTORY=/models/warmpath-tiny
USER 65532:65532
WORKDIR /app

FROM service AS training
COPY --from=build /build/training /training
RUN ["java", "-cp", "/training", "Training", \
     "http://127.0.0.1:9081/actuator/health/readiness", \
     "http://127.0.0.1:9081/actuator/prometheus", \
     "http://127.0.0.1:8081/metrics", \
     "--", \
     "java", "@/app/worker.options", "-XX:AOTCacheOutput=/tmp/worker.aot", "-jar", "/app/worker-agent-app.jar", \
     "--warmpath.worker.id=training", "--warmpath.worker.base-url=http://127.0.0.1:8081", \
     "--warmpath.compute.backend=vector"]

FROM service AS worker
COPY --from=training /tmp/worker.aot /app/
EXPOSE 8081 9081
ENTRYPOINT ["java", "@/app/worker.options", "-XX:AOTCache=/app/worker.aot", "-jar", "/app/worker-agent-app.jar"]

FROM ${CUDA_IMAGE} AS toolkit

FROM worker AS cuda
ARG CUBLASLT=/usr/local/cuda-12.9/targets/x86_64-linux/lib/libcublasLt.so.12
COPY --from=toolkit ${CUBLASLT} /usr/local/cuda/lib64/
# the driver's library and the cards come from the node's runtime, which goes by these two
ENV WARMPATH_CUBLASLT=/usr/local/cuda/lib64 NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
