//! Methods of AMQP 0-9-1, and what is told of their arguments.

use crate::operation::Role;

/// A method.
#[derive(Clone, Copy, Debug)]
pub(super) struct Method {
    class: u16,
    number: u16,
    pub(super) name: &'static str,
    pub(super) role: Role,
    /// Number of the method that asks: its own, or that of the one it answers.
    pub(super) asks: u16,
    pub(super) arguments: Arguments,
}

/// What is told of arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arguments {
    None,
    /// A code, and why.
    Code,
    /// Some bytes, then texts. `skip` is `usize::MAX` for those of a delivery.
    Texts {
        skip: usize,
        count: usize,
    },
}

/// Whether a method is one of a login, which has no ids.
pub(super) fn logs_in(class: u16, number: u16) -> bool {
    class == 10 && number < 40
}

/// The method of a class and a number.
pub(super) fn find(class: u16, number: u16) -> Option<&'static Method> {
    METHODS.iter().find(|method| (method.class, method.number) == (class, number))
}

const fn asks(class: u16, number: u16, name: &'static str) -> Method {
    let (role, arguments) = (Role::Request, Arguments::None);
    Method { class, number, name, role, asks: number, arguments }
}

const fn answers(class: u16, number: u16, asks: u16, name: &'static str) -> Method {
    let (role, arguments) = (Role::Response, Arguments::None);
    Method { class, number, name, role, asks, arguments }
}

const fn tells(class: u16, number: u16, name: &'static str) -> Method {
    let (role, arguments) = (Role::OneWay, Arguments::None);
    Method { class, number, name, role, asks: number, arguments }
}

impl Method {
    /// With a number of texts behind the first two bytes.
    const fn texts(self, count: usize) -> Method {
        Method { arguments: Arguments::Texts { skip: 2, count }, ..self }
    }

    const fn code(self) -> Method {
        Method { arguments: Arguments::Code, ..self }
    }
}

const METHODS: &[Method] = &[
    answers(10, 10, 10, "connection.start"),
    asks(10, 11, "connection.start-ok"),
    answers(10, 20, 20, "connection.secure"),
    asks(10, 21, "connection.secure-ok"),
    answers(10, 30, 30, "connection.tune"),
    tells(10, 31, "connection.tune-ok"),
    asks(10, 40, "connection.open"),
    answers(10, 41, 40, "connection.open-ok"),
    asks(10, 50, "connection.close").code(),
    answers(10, 51, 50, "connection.close-ok"),
    tells(10, 60, "connection.blocked"),
    tells(10, 61, "connection.unblocked"),
    asks(10, 70, "connection.update-secret"),
    answers(10, 71, 70, "connection.update-secret-ok"),
    asks(20, 10, "channel.open"),
    answers(20, 11, 10, "channel.open-ok"),
    asks(20, 20, "channel.flow"),
    answers(20, 21, 20, "channel.flow-ok"),
    asks(20, 40, "channel.close").code(),
    answers(20, 41, 40, "channel.close-ok"),
    asks(40, 10, "exchange.declare").texts(1),
    answers(40, 11, 10, "exchange.declare-ok"),
    asks(40, 20, "exchange.delete").texts(1),
    answers(40, 21, 20, "exchange.delete-ok"),
    asks(40, 30, "exchange.bind").texts(2),
    answers(40, 31, 30, "exchange.bind-ok"),
    asks(40, 40, "exchange.unbind").texts(2),
    answers(40, 51, 40, "exchange.unbind-ok"),
    asks(50, 10, "queue.declare").texts(1),
    answers(50, 11, 10, "queue.declare-ok"),
    asks(50, 20, "queue.bind").texts(2),
    answers(50, 21, 20, "queue.bind-ok"),
    asks(50, 30, "queue.purge").texts(1),
    answers(50, 31, 30, "queue.purge-ok"),
    asks(50, 40, "queue.delete").texts(1),
    answers(50, 41, 40, "queue.delete-ok"),
    asks(50, 50, "queue.unbind").texts(2),
    answers(50, 51, 50, "queue.unbind-ok"),
    asks(60, 10, "basic.qos"),
    answers(60, 11, 10, "basic.qos-ok"),
    asks(60, 20, "basic.consume").texts(1),
    answers(60, 21, 20, "basic.consume-ok"),
    asks(60, 30, "basic.cancel"),
    answers(60, 31, 30, "basic.cancel-ok"),
    tells(60, 40, "basic.publish").texts(2),
    tells(60, 50, "basic.return").code(),
    Method {
        arguments: Arguments::Texts { skip: usize::MAX, count: 2 },
        ..tells(60, 60, "basic.deliver")
    },
    asks(60, 70, "basic.get").texts(1),
    answers(60, 71, 70, "basic.get-ok"),
    answers(60, 72, 70, "basic.get-empty"),
    tells(60, 80, "basic.ack"),
    tells(60, 90, "basic.reject"),
    tells(60, 100, "basic.recover-async"),
    asks(60, 110, "basic.recover"),
    answers(60, 111, 110, "basic.recover-ok"),
    tells(60, 120, "basic.nack"),
    asks(85, 10, "confirm.select"),
    answers(85, 11, 10, "confirm.select-ok"),
    asks(90, 10, "tx.select"),
    answers(90, 11, 10, "tx.select-ok"),
    asks(90, 20, "tx.commit"),
    answers(90, 21, 20, "tx.commit-ok"),
    asks(90, 30, "tx.rollback"),
    answers(90, 31, 30, "tx.rollback-ok"),
];
