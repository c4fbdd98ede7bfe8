package dev.warmpath.cli;

import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.doctor.Doctor;
import dev.warmpath.cli.doctor.Finding;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;

/** {@code doctor}: looks at this machine and its fleet, or has a worker's program look at engines. */
@Command(name = "doctor", description = {"Look whether a fleet can start here, and whether the running one is well.",
        "A line for each thing: ok, warning, or missing and what to do; status 0 if nothing is missing, else 1. With "
                + "--engine, whether running engines are started as workers beside them want it."})
final class DoctorCommand implements Callable<Integer> {

    private final Call call;

    @Spec
    CommandSpec spec;

    @Option(names = "--engine", paramLabel = "KIND=URL", description = "As of 'up'; again for more. Each computes a "
            + "few short prompts.")
    List<String> engines = new ArrayList<>();

    @Option(names = "--model", paramLabel = "PATH", description = "The folder from which it was started: is its "
            + "tokenizer the same?")
    String model = "";

    @Option(names = "--port", paramLabel = "P", description = "Where a fleet would begin, if none is running (default: "
            + "${DEFAULT-VALUE}).")
    String port = "8080";

    @Option(names = "--json", description = "As JSON; not with --engine.")
    boolean isJson;

    DoctorCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        if (!engines.isEmpty()) {
            return engines();
        }
        if (!model.isEmpty()) {
            throw new ParameterException(spec.commandLine(), "--model needs --engine: it is compared with what an "
                    + "engine has");
        }
        int first;
        try {
            first = Call.number("--port", port, 1, 64_000);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage());
        }
        PrintWriter out = spec.commandLine().getOut();
        List<Finding> findings = new ArrayList<>();
        new Doctor(call.installation(), call.programs(), finding -> {
            findings.add(finding);
            if (!isJson) {
                out.println(finding.line());
                out.flush();
            }
        }).examine(first);
        if (isJson) {
            out.println(JsonMapper.builder().build().writeValueAsString(Map.of("findings", findings.stream()
                    .map(each -> Map.of("grade", each.grade().toString(), "sentence", each.sentence())).toList())));
        }
        return findings.stream().anyMatch(each -> each.grade() == Finding.Grade.MISSING) ? Warmpath.FAILED : 0;
    }

    /** What else they mean the program of workers knows. */
    private int engines() throws IOException {
        if (isJson) {
            throw new ParameterException(spec.commandLine(), "--json is not for --engine");
        }
        List<String> arguments = new ArrayList<>(List.of("doctor"));
        engines.forEach(engine -> arguments.addAll(List.of("--engine", engine)));
        if (!model.isEmpty()) {
            arguments.addAll(List.of("--model", model));
        }
        Map<String, String> environment = new HashMap<>(call.installation().environment());
        environment.put("WARMPATH_LAUNCHER", "yes");
        return call.programs().with(environment).show(
                call.command(Service.WORKER, Service.commonFlags(), "-Xmx512m", arguments));
    }
}
