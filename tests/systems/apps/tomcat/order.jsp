<%@ page contentType="text/plain" session="false"
         import="java.io.*, java.net.*, java.sql.*, javax.naming.*, javax.sql.DataSource" %><%--
An order: its price from the database, its stock from another service, and a note of the visit.
The request's id is in every query and in the address that the service is asked for.
--%><%
    String id = request.getParameter("id").replaceAll("[^a-z0-9]", "");
    DataSource shop = (DataSource) new InitialContext().lookup("java:comp/env/jdbc/shop");
    int price;
    try (Connection connection = shop.getConnection();
            Statement statement = connection.createStatement();
            ResultSet found = statement.executeQuery(
                "SELECT price FROM orders WHERE number = 7 /* " + id + " */")) {
        found.next();
        price = found.getInt(1);
    }

    URL address = new URL("http://127.0.0.1:@STOCK@/stock/" + id);
    String stock;
    // Read to its end, so that the connection is kept for the next one.
    try (InputStream answer = address.openConnection().getInputStream()) {
        stock = new String(answer.readAllBytes(), "UTF-8");
    }

    try (Connection connection = shop.getConnection();
            Statement statement = connection.createStatement()) {
        statement.executeUpdate("INSERT INTO visits VALUES ('" + id + "', " + price + ")");
        try (ResultSet found = statement.executeQuery(
                "SELECT count(*) FROM visits WHERE name = '" + id + "'")) {
            found.next();
            out.print(id + " costs " + price + ", " + stock + ", visits: " + found.getInt(1));
        }
    }
%>
