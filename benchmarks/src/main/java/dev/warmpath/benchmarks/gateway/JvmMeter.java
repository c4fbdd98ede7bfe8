package dev.warmpath.benchmarks.gateway;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import javax.management.JMException;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** What another virtual machine on this computer has allocated, asked through its own management agent. */
final class JvmMeter implements AutoCloseable {

    private static final String TOTAL = "TotalThreadAllocatedBytes";

    private final JMXConnector connector;
    private final MBeanServerConnection beans;
    private final ObjectName threads;

    JvmMeter(long pid) throws IOException {
        try {
            VirtualMachine machine = VirtualMachine.attach(Long.toString(pid));
            try {
                connector = JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()));
            } finally {
                machine.detach();
            }
            beans = connector.getMBeanServerConnection();
            threads = new ObjectName(ManagementFactory.THREAD_MXBEAN_NAME);
        } catch (AttachNotSupportedException | JMException e) {
            throw new IOException("process " + pid + " cannot be asked for its allocation", e);
        }
    }

    /** By all threads since the start, ended ones included. */
    long allocatedBytes() {
        try {
            return (Long) beans.getAttribute(threads, TOTAL);
        } catch (JMException e) {
            throw new IllegalStateException("a virtual machine of Java 21 or newer has " + TOTAL, e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws IOException {
        connector.close();
    }
}
