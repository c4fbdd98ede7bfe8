# The router. The context is the root of the repository, where Maven has packed the services: `./warmpath images`.
# Nothing is fetched but the two images named here; no stage but the first has a shell, so commands are lists.
ARG JDK_IMAGE=docker.io/library/eclipse-temurin:25-jdk
# glibc, libstdc++ and libgcc_s, which the tokenizers' library needs, a user 65532, and nothing else
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian13:nonroot

FROM ${JDK_IMAGE} AS build
WORKDIR /build
COPY images/jdk.options ./
RUN ["jlink", "@jdk.options", "--output", "/opt/java"]
COPY images/Training.java ./
RUN ["javac", "-d", "training", "Training.java"]
COPY router-service/target/router-service-app.jar ./
RUN ["java", "-Djarmode=tools", "-jar", "router-service-app.jar", "extract", "--layers", "--destination", "layers"]

FROM ${RUNTIME_IMAGE} AS service
COPY --from=build /opt/java /opt/java
# from what changes least to what changes most
COPY --from=build /build/layers/dependencies/ /build/layers/spring-boot-loader/ /app/
COPY --from=build /build/layers/snapshot-dependencies/ /build/layers/application/ /app/
COPY images/router.options /app/
ENV JAVA_HOME=/opt/java PATH=/opt/java/bin LANG=C.UTF-8
USER 65532:65532
WORKDIR /app

FROM service AS training
COPY --from=build /build/training /training
RUN ["java", "-cp", "/training", "Training", \
     "http://127.0.0.1:9080/actuator/health/liveness", \
     "http://127.0.0.1:9080/actuator/prometheus", \
     "http://127.0.0.1:8080/v1/models", \
     "--", \
     "java", "@/app/router.options", "-XX:AOTCacheOutput=/tmp/router.aot", "-jar", "/app/router-service-app.jar", \
     "--warmpath.drain.settle=0s"]

FROM service
COPY --from=training /tmp/router.aot /app/
EXPOSE 8080 9080
ENTRYPOINT ["java", "@/app/router.options", "-XX:AOTCache=/app/router.aot", "-jar", "/app/router-service-app.jar"]
