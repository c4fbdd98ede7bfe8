package dev.warmpath.worker.compute;

/** Which pools a block copy goes between; the host tier is addressed by block ids of its own, from 0. */
public enum CopyDirection {
    DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE
}
