// Spans as two Node clients write them: zipkin-js, and Jaeger's own.
//
// Each traces a shop that requests prices, as zipkin_clients.py does. Zipkin's client sends its
// JSON, one span after the other; here they are collected in zipkin_js.json, one per line. Jaeger's
// client sends Thrift to an agent. The response of Jaeger's API is written here from the client's
// spans in their wire format, field by field as Jaeger's query service does: jaeger.json.
//
// usage: tracer_clients.js FOLDER REQUESTS, with both packages in NODE_PATH
'use strict';

const fs = require('fs');
const path = require('path');

// Waits for `ms` milliseconds by the finest clock. A timer counts from the last time at which Node
// read the clock, so by itself it may be early by the duration of the code since then.
const wait = async (ms) => {
    const end = performance.now() + ms;
    while (performance.now() < end) {
        await new Promise((done) => setTimeout(done, 1));
    }
};

async function withZipkin(file, requests) {
    const zipkin = require('zipkin');
    const lines = [];
    const logger = { logSpan: (span) => lines.push(zipkin.jsonEncoder.JSON_V2.encode(span)) };
    const { Annotation: A } = zipkin;
    const tracer = (service, ip) => {
        const ctxImpl = new zipkin.ExplicitContext();
        const recorder = new zipkin.BatchRecorder({ logger });
        const address = new A.LocalAddr({ host: new zipkin.InetAddress(ip), port: 80 });
        const own = [new A.ServiceName(service), address];
        return Object.assign(new zipkin.Tracer({ ctxImpl, recorder, supportsJoin: true }), { own });
    };
    const shop = tracer('shop', '10.0.0.1');
    const prices = tracer('prices', '10.0.0.2');
    // Annotations of a span, within the scope of its id.
    const say = (of, id, ...all) =>
        of.scoped(() => {
            of.setId(id);
            all.forEach((annotation) => of.recordAnnotation(annotation));
        });
    const begin = (of, id, ...all) => say(of, id, ...all, ...of.own);
    for (let number = 0; number < requests; number += 1) {
        const root = shop.scoped(() => shop.createRootId());
        begin(shop, root, new A.Rpc('GET /cart'), new A.ServerRecv());
        const call = shop.scoped(() => {
            shop.setId(root);
            return shop.createChildId();
        });
        begin(shop, call, new A.Rpc('GET /price'), new A.ClientSend());
        // The ids are sent to the server, which joins the client's span.
        const served = prices.join(call);
        begin(prices, served, new A.Rpc('GET /price'), new A.ServerRecv());
        const local = prices.scoped(() => {
            prices.setId(served);
            return prices.createChildId();
        });
        begin(prices, local, new A.LocalOperationStart('look up'));
        await wait(2);
        say(prices, local, new A.LocalOperationStop());
        say(prices, served, new A.BinaryAnnotation('http.path', '/price'), new A.ServerSend());
        say(shop, call, new A.ClientRecv());
        say(shop, root, new A.ServerSend());
    }
    fs.writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
}

async function withJaeger(file, requests) {
    const jaeger = require('jaeger-client');
    const { Tags } = jaeger.opentracing;
    const { default: Thrift } = require('jaeger-client/dist/src/thrift.js');
    const tracer = (service, host) => {
        const reporter = new jaeger.InMemoryReporter();
        const sampler = new jaeger.ConstSampler(true);
        const tags = { hostname: host };
        return { reporter, of: new jaeger.Tracer(service, reporter, sampler, { tags }) };
    };
    const shop = tracer('shop', 'web1');
    const prices = tracer('prices', 'db1');
    for (let number = 0; number < requests; number += 1) {
        const root = shop.of.startSpan('GET /cart', { tags: { [Tags.SPAN_KIND]: 'server' } });
        const call = shop.of.startSpan('GET /price', {
            childOf: root,
            tags: { [Tags.SPAN_KIND]: 'client', [Tags.PEER_SERVICE]: 'prices', number },
        });
        const headers = {};
        shop.of.inject(call, 'http_headers', headers);
        const served = prices.of.startSpan('GET /price', {
            childOf: prices.of.extract('http_headers', headers),
            tags: { [Tags.SPAN_KIND]: 'server' },
        });
        const local = prices.of.startSpan('look up', { childOf: served });
        await wait(2);
        local.finish();
        if (number === 0) {
            served.setTag(Tags.ERROR, true);
        }
        served.finish();
        call.finish();
        root.finish();
    }

    const hex = (buffer) => buffer.toString('hex').replace(/^0+(?=.)/, '');
    const number = (buffer) => Number(buffer.readBigInt64BE());
    const tags = (all) =>
        all.map(({ key, vType, vStr, vDouble, vBool }) => ({
            key,
            ...{
                STRING: { type: 'string', value: vStr },
                DOUBLE: { type: 'float64', value: vDouble },
                BOOL: { type: 'bool', value: vBool },
            }[vType],
        }));
    const traces = new Map();
    [shop, prices].forEach(({ reporter, of }, place) => {
        const processID = `p${place + 1}`;
        const process = {
            serviceName: of._serviceName,
            tags: tags(Thrift.getThriftTags(of._process.tags)),
        };
        for (const span of reporter._spans.map((one) => Thrift.spanToThrift(one))) {
            const traceID = hex(span.traceIdLow);
            const trace = traces.get(traceID) ?? { traceID, spans: [], processes: {}, warnings: null };
            const parent = hex(span.parentSpanId);
            trace.processes[processID] = process;
            trace.spans.push({
                traceID,
                spanID: hex(span.spanId),
                operationName: span.operationName,
                references: parent === '0' ? [] : [{ refType: 'CHILD_OF', traceID, spanID: parent }],
                startTime: number(span.startTime),
                duration: number(span.duration),
                tags: tags(span.tags),
                logs: [],
                processID,
                warnings: null,
            });
            traces.set(traceID, trace);
        }
    });
    const data = [...traces.values()];
    fs.writeFileSync(file, JSON.stringify({ data, total: 0, limit: 0, offset: 0, errors: null }));
}

async function main() {
    const [folder, requests] = [process.argv[2], Number(process.argv[3])];
    await withZipkin(path.join(folder, 'zipkin_js.json'), requests);
    await withJaeger(path.join(folder, 'jaeger.json'), requests);
    // Timers of the clients would keep the process running.
    process.exit(0);
}

main();
