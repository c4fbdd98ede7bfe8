/**
 * What comes in on the management port: registrations, heartbeats and farewells of workers ({@code FleetRoutes}), what
 * operators change ({@code OperatorRoutes}) and what they look at (the endpoints). The port has an event loop of its
 * own ({@code ControlLoop}), and does not open to the network without tokens ({@code FleetExposure}).
 * <p>Uses {@code fleet}, {@code fleetlink}, which is told of new workers, and {@code prefix}. Used by nobody.
 */
@NullMarked
package dev.warmpath.router.management;

import org.jspecify.annotations.NullMarked;
