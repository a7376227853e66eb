"""Mail: Postfix receives it over SMTP, Dovecot puts it into mailboxes over LMTP and serves it over
IMAP.

All three servers greet first. Postfix's own programs communicate over unix sockets and files of
the queue, so the packets do not show it. The truth is that a delivery over LMTP with an id is made
for the mail that the client sent with that id.
"""

import shutil

import harness
import server_logs

# Postfix's own programs: name, kind, user limits and program, in the format of its master file.
SERVICES = """\
127.0.0.1:{smtp} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
local unix - n n - - local
virtual unix - n n - - virtual
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""


class Mail(harness.System):
    """Postfix and Dovecot, with clients that send and read."""

    name = "mail"
    packages = ("postfix", "dovecot-lmtpd", "dovecot-imapd")
    entry = ("smtp", "imap")
    # The client opens a connection for each mail.
    per_request = ("smtp",)
    requests = 200

    def start(self, run):
        dovecot = run.write("dovecot.conf", self.dovecot(run))
        # A separate host, as Postfix has a program of the same name as one of Dovecot: lmtp.
        if run.names:
            (run.log / "imap").mkdir()
            shutil.chown(run.log / "imap", "mail")
        run.record("dovecot", ["dovecot", "-F", "-c", dovecot], host="mailboxes")
        run.wait_port("lmtp")
        run.wait_port("imap")
        run.directory("queue")
        run.directory("postfix-data", user="postfix")
        run.write("postfix/main.cf", self.postfix(run))
        run.write("postfix/master.cf", SERVICES.format(smtp=run.port("smtp")))
        run.record("postfix", ["postfix", "-c", run.state / "postfix", "start-fg"])
        run.wait_port("smtp")

    @staticmethod
    def postfix(run):
        """The settings of Postfix: all mail of one domain goes to Dovecot."""
        return f"""compatibility_level = 3.6
queue_directory = {run.state}/queue
data_directory = {run.state}/postfix-data
maillog_file = /dev/stdout
myhostname = mail.example.test
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
mydestination =
alias_maps =
virtual_mailbox_domains = example.test
virtual_transport = lmtp:inet:127.0.0.1:{run.port('lmtp')}
smtp_dns_support_level = disabled
smtpd_peername_lookup = no
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_tls_security_level = none
recipient_delimiter = +
"""

    @staticmethod
    def dovecot(run):
        """The settings of Dovecot: every user may log in, and has a mailbox below one folder."""
        home = run.directory("mailboxes", user="mail")
        return f"""base_dir = {run.directory('dovecot')}
state_dir = {run.directory('dovecot-state')}
log_path = {run.log}/dovecot-own.log
protocols = imap lmtp
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
first_valid_uid = 1
mail_location = maildir:{home}/%n
recipient_delimiter = +
auth_username_format = %n
passdb {{
  driver = static
  args = nopassword=y
}}
userdb {{
  driver = static
  args = uid=mail gid=mail home={home}/%n
}}
service imap-login {{
  inet_listener imap {{
    port = {run.port('imap')}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
protocol imap {{
  {f"rawlog_dir = {run.log}/imap" if run.names else ""}
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {run.port('lmtp')}
  }}
}}
protocol lmtp {{
  postmaster_address = postmaster@example.test
}}
"""

    def load(self, run, requests, concurrency):
        arguments = [run.port("smtp"), run.port("imap"), "--requests", requests]
        run.client("mail_load.py", *arguments, "--concurrency", concurrency)

    def logged_requests(self, log):
        return {
            "smtp": server_logs.smtp(log / "postfix.log"),
            "lmtp": server_logs.lmtp(log / "postfix.log"),
            "imap": server_logs.imap(log / "imap"),
        }

    def stop(self, run):
        # Dovecot's and Postfix's masters end their own programs on SIGTERM.
        for name, process in reversed(run.started):
            if name in ("postfix", "dovecot"):
                process.terminate()
                process.wait(20)
