//! gRPC over HTTP/2: requests by service and method, responses by their status in the trailers.
//! What makes it of HTTP/2 is in `http2/streams.rs`.

use registry::About;

use crate::http2;
use crate::opening::Guess;
use crate::piece::Class;
use crate::protocol::Protocol;

/// The entry of gRPC.
pub(crate) static GRPC: Protocol = Protocol {
    about: About {
        name: "grpc",
        summary: "gRPC over HTTP/2: service and method, status of the trailers, by streams",
        ..About::NOTHING
    },
    class: Class::Http2,
    recognised: "The content type application/grpc of a request of HTTP/2.",
    recognise: |_| Guess::No,
    open: http2::open,
    #[cfg(test)]
    samples: tests::samples,
};

#[cfg(test)]
mod tests {
    use crate::http2::{Fields, data_end, headers, settings, talk};
    use crate::talk::Talk;

    const CALL: Fields = &[
        (":method", "POST"),
        (":path", "/shop.Cart/GetCart"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    const BEGIN: Fields = &[(":status", "200"), ("content-type", "application/grpc")];

    fn call(stream: u32) -> Vec<u8> {
        [headers(stream, CALL, false), data_end(stream)].concat()
    }

    pub(crate) fn samples() -> Vec<Talk> {
        vec![
            talk()
                .client([settings(), call(1), call(3), call(5)].concat())
                .server([settings(), headers(3, BEGIN, false), headers(1, BEGIN, false)].concat())
                .server(headers(5, &[(":status", "200"), ("grpc-status", "14")], true))
                .server(headers(1, &[("grpc-status", "0")], true))
                .server(headers(3, &[("grpc-status", "5"), ("grpc-message", "alice")], true)),
        ]
    }

    #[test]
    fn answers_have_the_place_of_their_beginning_and_the_status_of_the_trailers() {
        let call = "> shop.Cart/GetCart";
        let expected = [
            format!("{call} #1"),
            format!("{call} #3"),
            format!("{call} #5"),
            "< NOT_FOUND #3".to_owned(),
            "< OK #1".to_owned(),
            "< UNAVAILABLE! #5".to_owned(),
        ];
        assert_eq!(samples()[0].told(), expected);
    }

    #[test]
    fn an_answer_without_trailers_is_told_at_its_end() {
        let open = talk().client(call(1)).server(headers(1, BEGIN, false));
        assert_eq!(open.told()[1..], ["< #1"]);
        assert_eq!(
            open.client(b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08").told()[1..],
            ["< #1", "> = RST_STREAM CANCEL #1"]
        );
    }

    #[test]
    fn a_proxys_answer_has_the_status_that_a_client_makes_of_it() {
        let html: Fields = &[(":status", "503"), ("content-type", "text/html")];
        let talk = talk().client(call(1)).server(headers(1, html, false));
        assert_eq!(talk.told()[1..], ["< UNAVAILABLE! #1"]);
    }
}
