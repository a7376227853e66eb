"""Client of a mail system: sends mails over SMTP and reads each over IMAP once it has arrived.

usage: mail_load.py SMTP-PORT IMAP-PORT --requests N [--concurrency C]

Each mail has a distinct id, as a part of the sender's and receiver's addresses, in the subject and
in the message's own id. Each user sends to a separate mailbox, over one connection per mail, and
reads over one that stays open. The exit status is 1 if a mail did not arrive.
"""

import argparse
import imaplib
import itertools
import smtplib
import sys
import threading
import time
from email.message import EmailMessage

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
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--concurrency", type=int, default=1)
    arguments = parser.parse_args()

    numbers = itertools.count(1)
    arrived = []
    lock = threading.Lock()

    def work(user):
        connection = imaplib.IMAP4("127.0.0.1", arguments.imap, timeout=PATIENCE)
        connection.login(user, "open")
        connection.select("INBOX")
        while True:
            with lock:
                number = next(numbers)
            if number > arguments.requests:
                break
            identity = f"skid{number:07d}x"
            try:
                send(arguments.smtp, user, identity)
                if receive(connection, identity):
                    arrived.append(identity)
                else:
                    print(f"{identity} did not arrive", file=sys.stderr)
            except (OSError, smtplib.SMTPException, imaplib.IMAP4.error) as error:
                print(f"{identity}: {error!r}", file=sys.stderr)
        connection.logout()

    threads = [
        threading.Thread(target=work, args=(f"user{number}",))
        for number in range(arguments.concurrency)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{len(arrived)} of {arguments.requests} arrived")
    return 0 if len(arrived) == arguments.requests else 1


if __name__ == "__main__":
    sys.exit(main())
