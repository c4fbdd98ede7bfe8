package dev.warmpath.cli.doctor;

import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Management;
import dev.warmpath.cli.fleet.Readiness;
import dev.warmpath.cli.fleet.Role;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Looks at a running fleet, workers of other machines that routers know included. */
final class FleetDoctor {

    private static final Duration PATIENCE = Duration.ofSeconds(5);
    /** Deadlines and leases are compared across machines; so much is usual where clocks are kept by NTP, and more. */
    private static final Duration MOST_APART = Duration.ofSeconds(2);
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Management management;
    private final Consumer<Finding> findings;

    FleetDoctor(Management management, Consumer<Finding> findings) {
        this.management = management;
        this.findings = findings;
    }

    void look(FleetFile fleet) {
        Readiness readiness = Readiness.look(fleet, management);
        fleet.members().forEach(member -> findings.accept(state(member, readiness)));
        revisions(readiness);
        builds(fleet);
        clocks(fleet, readiness);
        new CacheDoctor(findings).look(meters(fleet, Role.ROUTER), meters(fleet, Role.WORKER));
    }

    /** What processes answer for Prometheus; those that do not are told elsewhere. */
    private Map<String, String> meters(FleetFile fleet, Role role) {
        Map<String, CompletableFuture<HttpResponse<String>>> asked = new LinkedHashMap<>();
        fleet.of(role).stream().filter(FleetMember::isRunning)
                .forEach(member -> asked.put(member.id(), management.get(member.management("/actuator/prometheus"))));
        Map<String, String> texts = new LinkedHashMap<>();
        answers(asked).forEach((id, answer) -> texts.put(id, answer.status() == 200 ? answer.body() : ""));
        return texts;
    }

    private static Finding state(FleetMember member, Readiness readiness) {
        if (!member.isRunning()) {
            return Finding.missing(member.id() + " has ended: ./warmpath logs " + member.id() + " says why, ./warmpath "
                    + "restart " + member.id() + " brings it back");
        }
        return readiness.isReady(member) ? Finding.ok(member.id() + " is ready at " + member.url())
                : Finding.warning(member.id() + " runs and is not ready: ./warmpath logs " + member.id() + " says what "
                        + "it does");
    }

    /** Requests of one model are shared by its revisions, which have caches of their own. */
    private void revisions(Readiness readiness) {
        Map<String, Set<String>> revisions = new TreeMap<>();
        Set<Map<String, String>> views = new TreeSet<>((a, b) -> a.toString().compareTo(b.toString()));
        readiness.workersByRouter().values().forEach(workers -> {
            Map<String, String> view = new TreeMap<>();
            workers.forEach(worker -> {
                String revision = worker.path("revision").asString("");
                revisions.computeIfAbsent(worker.path("model").asString(""), _ -> new TreeSet<>()).add(revision);
                view.put(worker.path("id").asString(""), revision);
            });
            views.add(view);
        });
        revisions.forEach((model, found) -> findings.accept(found.size() == 1
                ? Finding.ok("all workers of " + model + " have revision " + found.iterator().next())
                : Finding.warning("workers of " + model + " have " + found.size() + " revisions, " + String.join(", "
                        + "", found)
                        + ": they share requests, but no cache. Start them from the same files and settings, unless an "
                        + "update is under way")));
        if (views.size() > 1) {
            findings.accept(Finding.warning("routers know different workers: " + views
                    + "; wait some seconds, and look at ./warmpath logs of the one that lacks some"));
        }
    }

    private void builds(FleetFile fleet) {
        Map<String, List<String>> members = new TreeMap<>();
        ask(fleet, "/actuator/info").forEach((id, answer) -> {
            String commit = answer.json().path("build").path("commit").asString("");
            if (!commit.isEmpty()) {
                members.computeIfAbsent(commit, _ -> new ArrayList<>()).add(id);
            }
        });
        if (members.size() > 1) {
            findings.accept(Finding.warning("processes are of different builds: " + members
                    + "; ./warmpath down, then up, starts all from what is built now"));
        } else if (!members.isEmpty()) {
            findings.accept(Finding.ok("all processes are of the same build"));
        }
    }

    private Map<String, Management.Answer> ask(FleetFile fleet, String path) {
        Map<String, CompletableFuture<HttpResponse<String>>> asked = new LinkedHashMap<>();
        fleet.members().stream().filter(member -> member.role() != Role.REDIS)
                .forEach(member -> asked.put(member.id(), management.get(member.management(path))));
        return answers(asked);
    }

    private static Map<String, Management.Answer> answers(Map<String, CompletableFuture<HttpResponse<String>>> asked) {
        Map<String, Management.Answer> answers = new LinkedHashMap<>();
        asked.forEach((id, answer) -> {
            Management.Answer said = Management.within(PATIENCE, answer);
            if (said != null) {
                answers.put(id, said);
            }
        });
        return answers;
    }

    /** No answer has the time but those to a path that is none. */
    private void clocks(FleetFile fleet, Readiness readiness) {
        Map<String, URI> urls = new LinkedHashMap<>();
        fleet.of(Role.ROUTER).forEach(router -> urls.put(router.id(), router.management("/time")));
        for (JsonNode worker : readiness.workersByRouter().values().stream().flatMap(JsonNode::valueStream).toList()) {
            String url = worker.path("url").asString("");
            URI time = time(url);
            if (time == null) {
                findings.accept(Finding.warning(worker.path("id").asString("") + " is known by an address that is "
                        + "none: '" + url + "'; see its warmpath.worker.base-url"));
            } else {
                urls.put(worker.path("id").asString(""), time);
            }
        }
        List<String> wrong = new ArrayList<>();
        int known = 0;
        for (Map.Entry<String, URI> each : urls.entrySet()) {
            Instant asked = Instant.now();
            Management.Answer answer = Management.within(PATIENCE, management.get(each.getValue()));
            Instant told = answer == null ? null : time(answer);
            if (told == null) {
                continue;
            }
            known++;
            Instant answered = Instant.now();
            Duration apart = told.isBefore(asked) ? Duration.between(told, asked)
                    : told.isAfter(answered) ? Duration.between(answered, told) : Duration.ZERO;
            if (apart.compareTo(MOST_APART) > 0) {
                wrong.add(each.getKey() + " by " + apart.toSeconds() + " s");
            }
        }
        if (!wrong.isEmpty()) {
            findings.accept(Finding.missing("clocks differ from this machine's: " + String.join(", ", wrong)
                    + "; keep them by NTP (chrony, systemd-timesyncd)"));
        } else if (known > 0) {
            findings.accept(Finding.ok("clocks of " + known + " processes agree within "
                    + "" + MOST_APART.toSeconds() + " s"));
        }
    }

    /** @return null if it is no address of a server */
    private static @Nullable URI time(String url) {
        try {
            URI time = URI.create(url + "/time");
            return url.startsWith("http") && time.getHost() != null ? time : null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static @Nullable Instant time(Management.Answer answer) {
        try {
            return Instant.parse(JSON.readTree(answer.body()).path("timestamp").asString(""));
        } catch (JacksonException | DateTimeParseException e) {
            return null;
        }
    }
}
