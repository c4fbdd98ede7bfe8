package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A weight in panels of {@link PanelFormat#WIDTH} rows outside of the heap, each in the format that its rows came in. A
 * panel whose rows come in several formats, as the last of one part of a fused weight and the first of the next may, is
 * float32, which holds all of them exactly; the memory that it had before stays taken.
 */
final class PanelWeight extends CpuWeight {

    final PanelFormat[] formats;
    final MemorySegment[] panels;
    private final PanelPlace place;
    private final ThreadTeam team;
    private int uploaded;

    /** @param team packs what is uploaded */
    PanelWeight(int rows, int columns, PanelPlace place, ThreadTeam team) {
        super(rows, columns);
        this.place = place;
        this.team = team;
        int panelCount = Math.ceilDiv(rows, PanelFormat.WIDTH);
        formats = new PanelFormat[panelCount];
        panels = new MemorySegment[panelCount];
        Arrays.fill(formats, PlainPanels.ZEROS);
        Arrays.fill(panels, MemorySegment.NULL);
    }

    @Override
    void upload(int firstRow, int rowCount, WeightFormat format, MemorySegment values) {
        if (rowCount == 0) {
            return;
        }
        int firstPanel = firstRow / PanelFormat.WIDTH;
        int endPanel = Math.ceilDiv(firstRow + rowCount, PanelFormat.WIDTH);
        for (int panel = firstPanel; panel < endPanel; panel++) {
            long first = (long) (Math.max(panel * PanelFormat.WIDTH, firstRow) - firstRow) * columns();
            long end = (long) (Math.min((panel + 1) * PanelFormat.WIDTH, firstRow + rowCount) - firstRow) * columns();
            reserve(panel, wanted(format, values, first, end));
        }
        team.run((unit, _) -> {
            int panel = firstPanel + unit;
            int end = Math.min((panel + 1) * PanelFormat.WIDTH, firstRow + rowCount);
            for (int row = Math.max(panel * PanelFormat.WIDTH, firstRow); row < end; row++) {
                formats[panel].pack(format, values, (long) (row - firstRow) * columns(), columns(),
                        row % PanelFormat.WIDTH, panels[panel]);
            }
        }, endPanel - firstPanel, /* alone */ !team.mayRead(values));
        uploaded += rowCount;
        if (uploaded == rows()) {
            place.whole(this);
        }
    }

    /** Instead of all uploads. @return false if there is nothing to take over */
    boolean adopt() {
        return place.adopt(this);
    }

    private static PanelFormat wanted(WeightFormat format, MemorySegment values, long first, long end) {
        return format == WeightFormat.F16 && !PlainPanels.areFiniteF16(values, first, end) ? PlainPanels.F32
                : PanelFormat.of(format);
    }

    private void reserve(int panel, PanelFormat wanted) {
        PanelFormat present = formats[panel];
        if (present == PlainPanels.ZEROS || present != wanted && present != PlainPanels.F32) {
            PanelFormat format = present == PlainPanels.ZEROS ? wanted : PlainPanels.F32;
            MemorySegment reserved = place.allocate(format.bytes(PanelFormat.wholeGroups(columns())));
            if (present != PlainPanels.ZEROS) {
                present.widen(panels[panel], 0, columns(), reserved);
            }
            formats[panel] = format;
            panels[panel] = reserved;
        }
    }

    @Override
    void widenRow(int row, float[] target, int start) {
        PanelFormat format = formats[row / PanelFormat.WIDTH];
        MemorySegment panel = panels[row / PanelFormat.WIDTH];
        for (int column = 0; column < columns(); column++) {
            target[start + column] = format.value(panel, row % PanelFormat.WIDTH, column);
        }
    }
}
