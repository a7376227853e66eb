// An HTTP server of Netty with two event loops, which calls a service twice for each request: over
// a pool of connections that its event loops serve, too. A request is served by callbacks; none
// blocks.
//
// usage: Gateway PORT STOCK
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.FixedChannelPool;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;

public class Gateway {
    static final int CONNECTIONS = 16;
    static final int MOST_BYTES = 65536;
    static final AttributeKey<Promise<Integer>> ASKED = AttributeKey.valueOf("asked");
    static ChannelPool services;

    public static void main(String[] arguments) throws Exception {
        NioEventLoopGroup loops = new NioEventLoopGroup(2);
        Bootstrap client = new Bootstrap().group(loops).channel(NioSocketChannel.class)
                .remoteAddress("127.0.0.1", Integer.parseInt(arguments[1]));
        services = new FixedChannelPool(client, new AbstractChannelPoolHandler() {
            @Override
            public void channelCreated(Channel channel) {
                channel.pipeline().addLast(
                        new HttpClientCodec(), new HttpObjectAggregator(MOST_BYTES), new Answers());
            }
        }, CONNECTIONS);
        new ServerBootstrap().group(new NioEventLoopGroup(1), loops)
                .channel(NioServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 1000)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(
                                new HttpServerCodec(), new HttpObjectAggregator(MOST_BYTES), new Orders());
                    }
                })
                .bind("127.0.0.1", Integer.parseInt(arguments[0])).sync();
    }

    /** Takes a connection, sends the request, and gives the connection back with the response. */
    static Future<Integer> ask(ChannelHandlerContext context, String path) {
        Promise<Integer> asked = context.executor().newPromise();
        services.acquire().addListener((Future<Channel> taken) -> {
            if (!taken.isSuccess()) {
                asked.setFailure(taken.cause());
                return;
            }
            Channel channel = taken.getNow();
            channel.attr(ASKED).set(asked);
            var request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, path);
            request.headers().set(HttpHeaderNames.HOST, "127.0.0.1");
            channel.writeAndFlush(request);
        });
        return asked;
    }

    /** The service's responses. */
    static class Answers extends SimpleChannelInboundHandler<FullHttpResponse> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpResponse answer) {
            Promise<Integer> asked = context.channel().attr(ASKED).getAndSet(null);
            int status = answer.status().code();
            services.release(context.channel());
            asked.setSuccess(status);
        }
    }

    /** Requests: two calls, one after the other, then the response. */
    static class Orders extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            String name = request.uri();
            ask(context, "/left" + name).addListener((Future<Integer> left) ->
                    ask(context, "/send" + name).addListener((Future<Integer> sent) -> {
                        boolean right = left.isSuccess() && sent.isSuccess() && left.getNow() == 200 && sent.getNow() == 200;
                        var status = right ? HttpResponseStatus.OK : HttpResponseStatus.BAD_GATEWAY;
                        var answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status);
                        answer.headers().set(HttpHeaderNames.CONTENT_LENGTH, 0);
                        context.writeAndFlush(answer);
                    }));
        }
    }
}
