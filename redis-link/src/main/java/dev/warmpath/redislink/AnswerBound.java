package dev.warmpath.redislink;

import io.lettuce.core.protocol.CommandHandler;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;

/**
 * Closes a connection on which more comes, since the last command was written, than there is room for: Lettuce collects
 * an answer of whatever length in memory, and whoever can write to Redis could end all routers by one value. An answer
 * of many short elements takes more room than its bytes: each has a line or two, which count as objects do.
 */
final class AnswerBound extends ChannelDuplexHandler {

    /** Half of what a short element takes on the heap: it comes in two lines. In binary content one byte of 256 is one. */
    private static final int BYTES_PER_LINE = 64;

    private final long maxBytes;
    private long bytes;

    private AnswerBound(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** To be called for every new channel. */
    static void addTo(Channel channel, long maxBytes) {
        ChannelHandlerContext reader = channel.pipeline().context(CommandHandler.class);
        if (reader != null) {                                      // else nobody would keep what comes
            channel.pipeline().addBefore(reader.name(), "warmpath.answers", new AnswerBound(maxBytes));
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) throws Exception {
        bytes = 0;
        super.write(ctx, message, promise);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
        bytes += message instanceof ByteBuf piece ? onHeap(piece) : 0;
        if (bytes <= maxBytes) {
            super.channelRead(ctx, message);
            return;
        }
        ReferenceCountUtil.release(message);
        if (ctx.channel().isOpen()) {
            ctx.close();
            ctx.fireExceptionCaught(new IOException("more than " + maxBytes + " bytes have come in answer to one command, "
                    + "each line of it counted as " + BYTES_PER_LINE + ": something there was not written by a worker of "
                    + "this fleet, or the heap is too small for it"));
        }
    }

    private static long onHeap(ByteBuf piece) {
        long lines = 0;
        int end = piece.writerIndex();
        for (int at = piece.readerIndex(); at < end; at++) {
            lines += piece.getByte(at) == '\n' ? 1 : 0;
        }
        return piece.readableBytes() + BYTES_PER_LINE * lines;
    }
}
