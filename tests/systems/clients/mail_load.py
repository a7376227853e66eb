"""Client of a mail system: sends mails over SMTP and reads each over IMAP once it has arrived.

usage: mail_load.py SMTP-PORT IMAP-PORT --requests N [--concurrency C]

Each mail has a distinct id, as a part of the sender's and receiver's addresses, in the subject and
in the message's own id. Each user sends to a separate mailbox, over one connection per mail, and
reads over one that stays open. The exit status is 1 if a mail did not arrive.
"""

import argparse
import imaplib
import smtplib
import sys
import time
from email.message import EmailMessage

from load import identity_of, parse_load, run_load

# Maximum delivery time of a mail, and the interval of looking for it.
PATIENCE = 30.0
PAUSE = 0.05


def send(port, user, identity):
    """Sends one mail, over a separate connection."""
    mail = EmailMessage()
    mail["Subject"] = f"Letter {identity}"
    mail["Message-ID"] = f"<{identity}@example.test>"
    mail["From"] = f"{identity}@example.test"
    mail["To"] = f"{user}+{identity}@example.test"
    mail.set_content(f"This is the letter {identity}.\n" + "It says the same again.\n" * 40)
    with smtplib.SMTP("127.0.0.1", port, timeout=PATIENCE) as connection:
        connection.send_message(mail)


def receive(connection, identity):
    """Waits for the mail, reads it and removes it. Returns whether it arrived."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        connection.noop()
        _, found = connection.search(None, "SUBJECT", identity)
        if found and found[0]:
            number = found[0].split()[0].decode()
            _, parts = connection.fetch(number, "(BODY[])")
            connection.store(number, "+FLAGS", "\\Deleted")
            connection.expunge()
            return identity.encode() in parts[0][1]
        time.sleep(PAUSE)
    return False


def main():
    """Sends and reads all mails and prints how many arrived."""
    parser = argparse.ArgumentParser()
    parser.add_argument("smtp", type=int)
    parser.add_argument("imap", type=int)
    arguments = parse_load(parser)

    def work(user, numbers, failures):
        connection = imaplib.IMAP4("127.0.0.1", arguments.imap, timeout=PATIENCE)
        connection.login(f"user{user}", "open")
        connection.select("INBOX")
        for number in numbers:
            identity = identity_of(number)
            try:
                send(arguments.smtp, f"user{user}", identity)
                if not receive(connection, identity):
                    failures.append(f"{identity} did not arrive")
            except (OSError, smtplib.SMTPException, imaplib.IMAP4.error) as error:
                failures.append(f"{identity}: {error!r}")
        connection.logout()

    return run_load(arguments, work)


if __name__ == "__main__":
    sys.exit(main())
