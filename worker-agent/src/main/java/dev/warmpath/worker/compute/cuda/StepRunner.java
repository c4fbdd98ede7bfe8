package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Recording;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what is recorded of a step and brings it to the card: plans its attention, sends what was staged, and replays
 * the step's graph or launches its kernels one by one.
 */
final class StepRunner {

    /** A model has one for each width of its block tables, about ten. */
    private static final int MOST_RECORDINGS = 64;

    private final Staging staging;
    private final Launcher launcher;
    private final StepGraphs graphs;
    private final AttentionPlan plan;
    private final StepProgram program = new StepProgram();
    /** The one used longest ago goes first. */
    private final LinkedHashMap<Recording, Recorded> recorded =
            new LinkedHashMap<>(MOST_RECORDINGS, 0.75f, /* accessOrder */ true);
    /** What replayed steps read from one place, whatever step it is: the plan, and how many rows live. */
    private final DevicePointer replayedPlan;
    private final DevicePointer liveRows;
    private final MemorySegment liveRowCount = Arena.ofAuto().allocate(ValueLayout.JAVA_INT);

    StepRunner(CudaDevice device, CudaStream stream, Staging staging, AttentionPlan plan, BlockProducts blocks) {
        this.staging = staging;
        this.plan = plan;
        launcher = new Launcher(device, stream, blocks);
        graphs = new StepGraphs(stream);
        replayedPlan = device.allocate(plan.decodeBytes(StepGraphs.MAX_ROWS, 1), "a step's plan");
        liveRows = device.allocate(Integer.BYTES, "a step's row count");
    }

    // ---- recording

    /** @param rowCount 1 and above */
    void record(Operation operation, int rowCount) {
        program.add(operation, rowCount);
    }

    /**
     * What a recording came to when it was last told.
     * @param checkedRows for so many its tensors are known to be large enough
     */
    private record Recorded(List<Operation> operations, int checkedRows, boolean attends, int kvHeads, int group) {
    }

    /**
     * Records a step's body: from what is known of the recording, or else by running the operations.
     * @param queryStarts    the batch's, as last written
     * @param contextLengths likewise
     * @param operations     record themselves here
     * @throws IllegalStateException if the recording was of other operations before
     */
    void repeat(Recording recording, PagedBatch batch, CudaTensor queryStarts, CudaTensor contextLengths,
                Runnable operations) {
        if (program.recording() != null) {
            run(false);                                             // one body a program
        }
        int rows = batch.tokenCount();
        Recorded known = recorded.get(recording);
        if (known == null || rows > known.checkedRows()) {
            tell(recording, rows, known, operations);
            return;
        }
        if (known.attends()) {
            attendIn(batch, known.kvHeads(), known.group(), queryStarts, contextLengths);
        }
        int start = program.operations().size();
        for (Operation operation : known.operations()) {
            program.add(operation, rows);
        }
        program.closeBody(recording, start, rows);
    }

    private void tell(Recording recording, int rows, @Nullable Recorded known, Runnable operations) {
        int start = program.operations().size();
        long clears = program.clears();
        operations.run();
        if (program.clears() != clears) {
            return;                                                 // they did not stay one program
        }
        List<Operation> told = program.operations();
        told = List.copyOf(told.subList(start, told.size()));
        if (known != null && !told.equals(known.operations())) {
            throw new IllegalStateException("a recording of %d operations is enqueued with others, %d of them"
                    .formatted(known.operations().size(), told.size()));
        }
        if (recorded.size() == MOST_RECORDINGS && known == null) {
            recorded.pollFirstEntry();
        }
        recorded.put(recording, new Recorded(told, rows, program.attends(), program.kvHeads(), program.group()));
        program.closeBody(recording, start, rows);
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
        if (program.attendsIn(batch, kvHeads, group)) {
            return;
        }
        if (program.attends()) {
            run(false);
        }
        plan.arrange(queryStarts.written(), contextLengths.written(), batch.sequenceCount(), kvHeads, group);
        program.attendIn(batch, kvHeads, group);
    }

    // ---- running

    long refusedGraphs() {
        return graphs.refusals();
    }

    /** Where and how wide a program is launched. @param rows of the body; {@link #EXACT}: what each operation has */
    private record Pass(int rows, @Nullable DevicePointer live, Launcher.AttentionGrids grids) {

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
            Recording recording = program.recording();
            if (pass.rows() == Pass.EXACT || recording == null) {
                launch(pass, 0, program.operations().size());
            } else {
                replay(recording, pass, program.bodyStart(), program.bodyEnd());
            }
        } finally {
            program.clear();
            staging.close();
        }
    }

    /** Runs operations, which record themselves here, once and captures them, as a step that is submitted would be. */
    CudaGraph capture(Runnable operations) {
        run(false);
        operations.run();
        program.closeBody(new Recording(), 0, program.commonRowCount());
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
        Pass pass = replays ? replayed(rows) : new Pass(Pass.EXACT, null, exactGrids());
        staging.send();
        return pass;
    }

    private Pass replayed(int rows) {
        int bucket = StepGraphs.bucket(rows);
        liveRowCount.set(ValueLayout.JAVA_INT, 0, rows);
        staging.write(liveRows, liveRowCount);
        if (!program.attends()) {
            return new Pass(bucket, liveRows, Launcher.AttentionGrids.NOTHING);
        }
        staging.write(replayedPlan, plan.decode());
        var grids = new Launcher.AttentionGrids(replayedPlan, plan.workGrid(bucket, program.kvHeads()),
                plan.reduceGrid(bucket, program.kvHeads()), null, 0);
        return new Pass(bucket, liveRows, grids);
    }

    private Launcher.AttentionGrids exactGrids() {
        if (!program.attends()) {
            return Launcher.AttentionGrids.NOTHING;
        }
        return new Launcher.AttentionGrids(
                plan.workCount() == 0 ? null : staging.place(plan.decode()), plan.workCount(), plan.reduceCount(),
                plan.tileCount() == 0 ? null : staging.place(plan.tiles()), plan.tileCount());
    }

    /** Feeding and drawing tokens stay out of the graph, which then serves every step, wherever those are kept. */
    private void replay(Recording recording, Pass pass, int bodyStart, int bodyEnd) {
        launch(pass, 0, bodyStart);
        graphs.launch(recording, pass.rows(), pass.grids(),
                () -> launch(pass, bodyStart, bodyEnd));
        launch(pass, bodyEnd, program.operations().size());
    }

    private void launch(Pass pass, int from, int to) {
        int bodyStart = program.bodyStart();
        int bodyEnd = program.bodyEnd();
        for (int i = from; i < to; i++) {
            boolean exact = pass.rows() == Pass.EXACT || i < bodyStart || i >= bodyEnd;
            launcher.launch(program.operations().get(i), exact ? program.rowCount(i) : pass.rows(),
                    exact ? null : pass.live(), pass.grids());
        }
    }
}
