//! Methods of AMQP 0-9-1, and which of their arguments are recorded.

use crate::operation::MessageRole;

/// An AMQP method.
#[derive(Clone, Copy, Debug)]
pub(super) struct AmqpMethod {
    class: u16,
    number: u16,
    pub(super) name: &'static str,
    pub(super) role: MessageRole,
    /// Number of the requesting method: this method, or the method that it answers.
    pub(super) request_number: u16,
    pub(super) arguments: MethodArguments,
}

/// Arguments of a method that are recorded.
#[derive(Clone, Copy, Debug)]
pub(super) enum MethodArguments {
    None,
    /// A code and its reason.
    Code,
    /// `skip` bytes, then `count` texts. `skip` is `usize::MAX` for a delivery, since the length of
    /// its first argument varies.
    Texts {
        skip: usize,
        count: usize,
    },
}

/// Whether a method belongs to the login, which has no ids.
pub(super) fn is_login(class: u16, number: u16) -> bool {
    class == 10 && number < 40
}

/// Finds a method by its class and number.
pub(super) fn find_method(class: u16, number: u16) -> Option<&'static AmqpMethod> {
    METHODS.iter().find(|method| (method.class, method.number) == (class, number))
}

const fn request_method(class: u16, number: u16, name: &'static str) -> AmqpMethod {
    let (role, arguments) = (MessageRole::Request, MethodArguments::None);
    AmqpMethod { class, number, name, role, request_number: number, arguments }
}

const fn response_method(
    class: u16,
    number: u16,
    request_number: u16,
    name: &'static str,
) -> AmqpMethod {
    let (role, arguments) = (MessageRole::Response, MethodArguments::None);
    AmqpMethod { class, number, name, role, request_number, arguments }
}

const fn one_way_method(class: u16, number: u16, name: &'static str) -> AmqpMethod {
    let (role, arguments) = (MessageRole::OneWay, MethodArguments::None);
    AmqpMethod { class, number, name, role, request_number: number, arguments }
}

impl AmqpMethod {
    /// The method with `count` texts among its arguments, after the first two bytes.
    const fn with_texts(self, count: usize) -> AmqpMethod {
        AmqpMethod { arguments: MethodArguments::Texts { skip: 2, count }, ..self }
    }

    const fn with_code(self) -> AmqpMethod {
        AmqpMethod { arguments: MethodArguments::Code, ..self }
    }
}

const METHODS: &[AmqpMethod] = &[
    response_method(10, 10, 10, "connection.start"),
    request_method(10, 11, "connection.start-ok"),
    response_method(10, 20, 20, "connection.secure"),
    request_method(10, 21, "connection.secure-ok"),
    response_method(10, 30, 30, "connection.tune"),
    one_way_method(10, 31, "connection.tune-ok"),
    request_method(10, 40, "connection.open"),
    response_method(10, 41, 40, "connection.open-ok"),
    request_method(10, 50, "connection.close").with_code(),
    response_method(10, 51, 50, "connection.close-ok"),
    one_way_method(10, 60, "connection.blocked"),
    one_way_method(10, 61, "connection.unblocked"),
    request_method(10, 70, "connection.update-secret"),
    response_method(10, 71, 70, "connection.update-secret-ok"),
    request_method(20, 10, "channel.open"),
    response_method(20, 11, 10, "channel.open-ok"),
    request_method(20, 20, "channel.flow"),
    response_method(20, 21, 20, "channel.flow-ok"),
    request_method(20, 40, "channel.close").with_code(),
    response_method(20, 41, 40, "channel.close-ok"),
    request_method(40, 10, "exchange.declare").with_texts(1),
    response_method(40, 11, 10, "exchange.declare-ok"),
    request_method(40, 20, "exchange.delete").with_texts(1),
    response_method(40, 21, 20, "exchange.delete-ok"),
    request_method(40, 30, "exchange.bind").with_texts(2),
    response_method(40, 31, 30, "exchange.bind-ok"),
    request_method(40, 40, "exchange.unbind").with_texts(2),
    response_method(40, 51, 40, "exchange.unbind-ok"),
    request_method(50, 10, "queue.declare").with_texts(1),
    response_method(50, 11, 10, "queue.declare-ok"),
    request_method(50, 20, "queue.bind").with_texts(2),
    response_method(50, 21, 20, "queue.bind-ok"),
    request_method(50, 30, "queue.purge").with_texts(1),
    response_method(50, 31, 30, "queue.purge-ok"),
    request_method(50, 40, "queue.delete").with_texts(1),
    response_method(50, 41, 40, "queue.delete-ok"),
    request_method(50, 50, "queue.unbind").with_texts(2),
    response_method(50, 51, 50, "queue.unbind-ok"),
    request_method(60, 10, "basic.qos"),
    response_method(60, 11, 10, "basic.qos-ok"),
    request_method(60, 20, "basic.consume").with_texts(1),
    response_method(60, 21, 20, "basic.consume-ok"),
    request_method(60, 30, "basic.cancel"),
    response_method(60, 31, 30, "basic.cancel-ok"),
    one_way_method(60, 40, "basic.publish").with_texts(2),
    one_way_method(60, 50, "basic.return").with_code(),
    AmqpMethod {
        arguments: MethodArguments::Texts { skip: usize::MAX, count: 2 },
        ..one_way_method(60, 60, "basic.deliver")
    },
    request_method(60, 70, "basic.get").with_texts(1),
    response_method(60, 71, 70, "basic.get-ok"),
    response_method(60, 72, 70, "basic.get-empty"),
    one_way_method(60, 80, "basic.ack"),
    one_way_method(60, 90, "basic.reject"),
    one_way_method(60, 100, "basic.recover-async"),
    request_method(60, 110, "basic.recover"),
    response_method(60, 111, 110, "basic.recover-ok"),
    one_way_method(60, 120, "basic.nack"),
    request_method(85, 10, "confirm.select"),
    response_method(85, 11, 10, "confirm.select-ok"),
    request_method(90, 10, "tx.select"),
    response_method(90, 11, 10, "tx.select-ok"),
    request_method(90, 20, "tx.commit"),
    response_method(90, 21, 20, "tx.commit-ok"),
    request_method(90, 30, "tx.rollback"),
    response_method(90, 31, 30, "tx.rollback-ok"),
];
