package dev.warmpath.router.admission;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What load balancers are told.
 *
 * @param requireModel a router is ready when it can serve at least one model; false: also without. Clients then read
 *                     its 503, where a balancer without any ready router would refuse their connection
 */
@ConfigurationProperties("warmpath.readiness")
record ReadinessProperties(@DefaultValue("true") boolean requireModel) {}
