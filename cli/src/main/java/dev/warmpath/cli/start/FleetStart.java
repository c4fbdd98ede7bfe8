package dev.warmpath.cli.start;

import dev.warmpath.cli.build.Build;
import dev.warmpath.cli.build.Ending;
import dev.warmpath.cli.build.Preparation;
import dev.warmpath.cli.build.Programs;
import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.FleetStop;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Launches;
import dev.warmpath.cli.fleet.Launches.Launch;
import dev.warmpath.cli.fleet.Management;
import dev.warmpath.cli.fleet.ProcessStart;
import dev.warmpath.cli.fleet.Readiness;
import dev.warmpath.cli.fleet.StateLock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The whole way from what was asked for to a fleet that answers. */
public final class FleetStart {

    /** Of a router's process, what is not heap. */
    private static final int ROUTER_BESIDE_MB = 160;
    /** Of the process of a worker that only passes on. */
    private static final int WORKER_BESIDE_MB = 700;
    private static final int REDIS_MB = 256;
    /** Of this command's process, which the launcher script gives a heap of 64. */
    private static final int COMMAND_MB = 128;

    private final Installation installation;
    private final Ending ending;
    private final Progress progress;
    private final Wishes wishes;
    private final FleetStop stop;
    private final Runnable interruption = this::interrupted;
    /** Null: the fleet is ready, or has never begun. Guarded by this, as launching and ending are. */
    private @Nullable StateLock lock;
    private boolean isInterrupted;

    public FleetStart(Installation installation, Ending ending, Progress progress, Wishes wishes) {
        this.installation = installation;
        this.ending = ending;
        this.progress = progress;
        this.wishes = wishes;
        this.stop = new FleetStop(installation);
    }

    /**
     * Starts it and, unless it is detached, watches it until it is stopped.
     *
     * @throws StartFailedException if a process does not come up, or the last router ends; none is left
     */
    public void run() throws IOException, StartFailedException {
        Path model = ModelPath.find(wishes.model(), installation);
        requireNone();
        installation.makeFolders();
        lock = StateLock.take(installation.state(), StateLock.UP);
        try {
            requireNone();                                         // another one may have become ready meanwhile
            startLocked(model);
        } finally {
            unlock();
        }
    }

    private void requireNone() {
        FleetFile before = FleetFile.read(installation.state());
        if (before != null && before.members().stream().anyMatch(FleetMember::isRunning)) {
            throw new CommandException("a fleet is running already: ./warmpath status shows it, ./warmpath down stops "
                    + "it");
        }
    }

    private void startLocked(Path model) throws IOException, StartFailedException {
        stop.forget();                                             // what a fleet that could not end well has left
        var ports = new Ports(wishes.host(), wishes.port(), wishes.routers());
        ports.requireFree(wishes.mostWorkers(), wishes.redis().equals(Wishes.EMBEDDED));
        ending.add(interruption);

        var programs = Programs.here(ending, installation);
        new Build(installation, programs, progress).ifNeeded(Service.FLEET);
        Map<String, String> environment = FleetEnvironment.common(installation);
        int routerHeap = RouterHeap.megabytes(wishes.mostWorkers(), wishes.backend(),
                set("warmpath.scheduler.max-num-seqs", environment.get("WARMPATH_SCHEDULER_MAXNUMSEQS")),
                set("warmpath.admission.max-in-flight", environment.get("WARMPATH_ADMISSION_MAXINFLIGHT")));
        Preflight.Outlook outlook = new Preflight(installation, programs.with(environment), progress, wishes, model)
                .look(besideMegabytes(routerHeap));
        new Preparation(installation, programs, progress, wishes.stallTimeout()).ifNeeded();
        FleetEnvironment.addTokens(environment, wishes, installation);
        FleetEnvironment.addRedis(environment, wishes, ports, installation);
        var plan = new FleetPlan(installation, wishes, ports, model, outlook, environment);
        var launches = Launches.of(environment, plan.launches(routerHeap));
        try {
            start(plan, ports, outlook, launches, model);
        } catch (IOException | RuntimeException | StartFailedException e) {
            ending.pass();                                         // who is interrupted has not failed
            progress.begin("stopping what was started", () -> "");
            stopAll();
            if (e instanceof RuntimeException && !(e instanceof CommandException)) {
                throw new CommandException("the start went wrong, and what was started is stopped: " + e);
            }
            throw e;
        }
    }

    private void start(FleetPlan plan, Ports ports, Preflight.Outlook outlook, Launches launches, Path model)
            throws IOException, StartFailedException {
        long beganNanos = System.nanoTime();
        var words = new StartWords(wishes, ports, installation, progress);
        words.begins(outlook, plan.threads());
        launches.write(installation.state());
        var start = new ProcessStart(installation, launches);
        for (Launch launch : launches.launches()) {
            begin(start, launch);
            ending.pass();
        }
        FleetFile fleet = FleetFile.read(installation.state());
        if (fleet != null && isReady(fleet, launches, words, beganNanos, ports, model)) {
            unlock();
            if (wishes.isDetached()) {
                ending.remove(interruption);
                progress.say("The fleet runs on in the background: ./warmpath status, ./warmpath down");
                return;
            }
            progress.say("Ctrl-C stops everything.");
            new Watch(installation, launches, progress, ending).untilStopped();
        }
        progress.say("stopped");
    }

    /** A process that is not in the fleet file yet would outlive an interruption. */
    private synchronized void begin(ProcessStart start, Launch launch) throws IOException {
        if (!isInterrupted) {
            start.begin(launch);
        }
    }

    /** @return whether it is, and has said so; else somebody has removed it meanwhile */
    private boolean isReady(FleetFile fleet, Launches launches, StartWords words, long beganNanos, Ports ports,
            Path model) throws StartFailedException {
        try (var management = new Management()) {
            var wait = new ReadyWait(installation, management, progress, ending, wishes.stallTimeout());
            if (!wait.await(fleet, fleet.members(), Readiness::isReady,
                    () -> !launches.isStillThere(installation.state()))) {
                return false;
            }
            String modelName = installation.variable("WARMPATH_APIKEYS_FILE").isEmpty()
                    ? new FirstAnswer(management, ports.routerUrls().getFirst(), installation.log("router")).require()
                    : null;
            words.isReady(Duration.ofNanos(System.nanoTime() - beganNanos), fleet, management, model, modelName);
            return true;
        }
    }

    private int besideMegabytes(int routerHeap) {
        return wishes.routers() * (routerHeap + ROUTER_BESIDE_MB) + wishes.engines().size() * WORKER_BESIDE_MB
                + (wishes.redis().equals(Wishes.EMBEDDED) ? REDIS_MB : 0) + (wishes.isDetached() ? 0 : COMMAND_MB);
    }

    private @Nullable String set(String name, @Nullable String otherwise) {
        List<String> given = wishes.settings().stream().filter(setting -> setting.name().equals(name))
                .map(Setting::value).toList();
        return given.isEmpty() ? otherwise : given.getLast();
    }

    private synchronized void unlock() throws IOException {
        if (lock != null) {
            lock.close();
            lock = null;
        }
    }

    private synchronized void stopAll() throws IOException {
        if (lock != null) {
            stop.stop();
        } else {
            stop.stopLocked();
        }
    }

    private synchronized void interrupted() {
        isInterrupted = true;
        progress.say("stopping ...");
        progress.close();
        try {
            stopAll();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
