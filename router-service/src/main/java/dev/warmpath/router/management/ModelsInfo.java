package dev.warmpath.router.management;

import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.RevisionView;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.stereotype.Component;

/** {@code models} in {@code /actuator/info}: the revisions of each that are here. */
@Component
final class ModelsInfo implements InfoContributor {

    private final Fleet fleet;

    ModelsInfo(Fleet fleet) {
        this.fleet = fleet;
    }

    @Override
    public void contribute(Info.Builder builder) {
        builder.withDetail("models", fleet.revisionViews().stream().collect(Collectors.groupingBy(RevisionView::model,
                TreeMap::new, Collectors.mapping(RevisionView::revision, Collectors.toList()))));
    }
}
