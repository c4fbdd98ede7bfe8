package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.PagedBatch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what is recorded of a step and brings it to the card: plans its attention, sends what was staged, and replays
 * the step's graph or launches its kernels one by one.
 */
final class StepRunner {

    private final Staging staging;
    private final Launcher launcher;
    private final StepGraphs graphs;
    private final AttentionPlan plan;
    private final StepProgram program = new StepProgram();
    /** What replayed steps read from one place, whatever step it is: the plan, and how many rows live. */
    private final DevicePointer replayedPlan;
    private final DevicePointer liveRows;
    private final MemorySegment liveRowCount = Arena.ofAuto().allocate(ValueLayout.JAVA_INT);

    StepRunner(CudaDevice device, CudaStream stream, Staging staging, AttentionPlan plan) {
        this.staging = staging;
        this.plan = plan;
        launcher = new Launcher(device, stream);
        graphs = new StepGraphs(stream);
        replayedPlan = device.allocate(plan.decodeBytes(StepGraphs.MAX_ROWS, 1), "a step's plan");
        liveRows = device.allocate(Integer.BYTES, "a step's row count");
    }

    // ---- recording

    /** @param rowCount 1 and above */
    void record(Operation operation, int rowCount) {
        program.add(operation, rowCount);
    }

    boolean hasRecorded() {
        return !program.isEmpty();
    }

    /** Drops what was recorded; what was staged stays. */
    void forget() {
        program.clear();
    }

    /**
     * Plans the attention of a batch, unless that is done; another batch's is run before.
     * @param group          query heads of a KV head
     * @param queryStarts    the batch's, as last written
     * @param contextLengths likewise
     */
    void attendIn(PagedBatch batch, int kvHeads, int group, CudaTensor queryStarts, CudaTensor contextLengths) {
        if (program.attendsIn(batch, kvHeads)) {
            return;
        }
        if (program.attends()) {
            run(false);
        }
        plan.arrange(queryStarts.written(), contextLengths.written(), batch.sequenceCount(), kvHeads, group);
        program.attendIn(batch, kvHeads);
    }

    // ---- running

    long refusedGraphs() {
        return graphs.refusals();
    }

    /** Where and how wide a program is launched. @param rows of the body; {@link #EXACT}: what each operation has */
    private record Pass(int rows, @Nullable DevicePointer live, Launcher.Reach reach) {

        static final int EXACT = 0;
    }

    /**
     * Sends what was staged and runs what was recorded. Afterwards nothing is either, whether it worked or not.
     * @param mayReplay whether it is a whole step, worth a graph if it only decodes
     */
    void run(boolean mayReplay) {
        if (program.isEmpty() && staging.isEmpty()) {
            return;
        }
        try {
            Pass pass = prepare(mayReplay);
            if (pass.rows() == Pass.EXACT) {
                launch(pass, 0, program.operations().size());
            } else {
                replay(pass, program.bodyStart(), program.bodyEnd());
            }
        } finally {
            program.clear();
            staging.close();
        }
    }

    /** Runs operations, which record themselves here, once and captures them, in the way of a step that is submitted. */
    CudaGraph capture(Runnable operations) {
        run(false);
        operations.run();
        try {
            Pass pass = prepare(true);
            return graphs.launchAndCapture(() -> launch(pass, 0, program.operations().size()));
        } finally {
            program.clear();
            staging.close();
        }
    }

    /** Decides how the program is launched, and sends the plan of its attention and all that was staged. */
    private Pass prepare(boolean mayReplay) {
        int rows = program.bodyRowCount();
        boolean decodes = !program.attends() || plan.decodeCount() == rows && plan.tileCount() == 0;
        boolean replays = mayReplay && decodes && rows > 0 && rows <= StepGraphs.MAX_ROWS;
        Pass pass = replays ? replayed(rows) : new Pass(Pass.EXACT, null, exactReach());
        staging.send();
        return pass;
    }

    private Pass replayed(int rows) {
        int bucket = StepGraphs.bucket(rows);
        liveRowCount.set(ValueLayout.JAVA_INT, 0, rows);
        staging.write(liveRows, liveRowCount);
        if (!program.attends()) {
            return new Pass(bucket, liveRows, Launcher.Reach.NOTHING);
        }
        staging.write(replayedPlan, plan.decode());
        return new Pass(bucket, liveRows, new Launcher.Reach(replayedPlan, plan.workGrid(bucket, program.kvHeads()),
                plan.reduceGrid(bucket, program.kvHeads()), null, 0));
    }

    private Launcher.Reach exactReach() {
        if (!program.attends()) {
            return Launcher.Reach.NOTHING;
        }
        return new Launcher.Reach(plan.workCount() == 0 ? null : staging.place(plan.decode()), plan.workCount(),
                plan.reduceCount(), plan.tileCount() == 0 ? null : staging.place(plan.tiles()), plan.tileCount());
    }

    /** Feeding and drawing tokens stay out of the graph, which then serves every step, wherever those are kept. */
    private void replay(Pass pass, int bodyStart, int bodyEnd) {
        launch(pass, 0, bodyStart);
        graphs.launch(program.operations().subList(bodyStart, bodyEnd), pass.rows(), pass.reach(),
                () -> launch(pass, bodyStart, bodyEnd));
        launch(pass, bodyEnd, program.operations().size());
    }

    private void launch(Pass pass, int from, int to) {
        int bodyStart = program.bodyStart();
        int bodyEnd = program.bodyEnd();
        for (int i = from; i < to; i++) {
            boolean exact = pass.rows() == Pass.EXACT || i < bodyStart || i >= bodyEnd;
            launcher.launch(program.operations().get(i), exact ? program.rowCount(i) : pass.rows(),
                    exact ? null : pass.live(), pass.reach());
        }
    }
}
