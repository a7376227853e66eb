-- Tables and transactions of a shop, after TPC-W (books, categories) and TPC-C (the others): each
-- transaction of TPC-C is a function, so that the web server calls it once.
CREATE TABLE item (id int PRIMARY KEY, category int, title text, author text, price int);
INSERT INTO item SELECT n, n % 24, md5(n::text), md5((n % 500)::text), n % 97
    FROM generate_series(1, 20000) n;
CREATE INDEX ON item (category);
CREATE TABLE stock (item int PRIMARY KEY, quantity int, data text) WITH (fillfactor = 80);
INSERT INTO stock SELECT n, 10 + n % 91, repeat(md5(n::text), 9) FROM generate_series(1, 100000) n;
CREATE TABLE customer (id int PRIMARY KEY, balance int, payments int, data text)
    WITH (fillfactor = 80);
INSERT INTO customer SELECT n, 0, 0, repeat(md5(n::text), 9) FROM generate_series(1, 30000) n;
CREATE TABLE district (id int PRIMARY KEY, next_order int, taken int) WITH (fillfactor = 10);
INSERT INTO district SELECT n, 1001, 0 FROM generate_series(0, 99) n;
CREATE TABLE orders (district int, number int, customer int, carrier int,
    PRIMARY KEY (district, number));
INSERT INTO orders SELECT d, n, 1 + (n * 7 + d * 31) % 30000, 0
    FROM generate_series(0, 99) d, generate_series(1, 1000) n;
CREATE INDEX ON orders (customer, number);
CREATE TABLE line (district int, number int, place int, item int, quantity int,
    PRIMARY KEY (district, number, place));
INSERT INTO line SELECT d, n, p, 1 + (n * 97 + d * 13 + p * 7919) % 100000, p
    FROM generate_series(0, 99) d, generate_series(1, 1000) n, generate_series(1, 5) p;
CREATE TABLE history (customer int, amount int, at timestamptz);

CREATE FUNCTION new_order(of int, buyer int, seed int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    own int;
    wanted int;
BEGIN
    UPDATE district SET next_order = next_order + 1 WHERE id = of RETURNING next_order - 1 INTO own;
    INSERT INTO orders VALUES (of, own, buyer, 0);
    FOR place IN 1..10 LOOP
        wanted := 1 + (seed * 7919 + place * 104729) % 100000;
        UPDATE stock SET quantity = CASE WHEN quantity > 10 THEN quantity - 1 ELSE 91 END
            WHERE item = wanted;
        INSERT INTO line VALUES (of, own, place, wanted, 1);
    END LOOP;
    RETURN own;
END $$;

CREATE FUNCTION payment(of int, payer int, amount int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    left_over int;
BEGIN
    UPDATE district SET taken = taken + amount WHERE id = of;
    UPDATE customer SET balance = balance - amount, payments = payments + 1
        WHERE id = payer RETURNING balance INTO left_over;
    INSERT INTO history VALUES (payer, amount, now());
    RETURN left_over;
END $$;

CREATE FUNCTION order_status(buyer int) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM line
    JOIN (SELECT district, number FROM orders WHERE customer = buyer ORDER BY number DESC LIMIT 1) own
    USING (district, number)
$$;

CREATE FUNCTION delivery(first int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    own record;
    sum bigint := 0;
BEGIN
    FOR place IN 0..9 LOOP
        SELECT district, number, customer INTO own FROM orders
            WHERE district = (first + place) % 100 AND carrier = 0 ORDER BY number LIMIT 1 FOR UPDATE;
        CONTINUE WHEN own IS NULL;
        UPDATE orders SET carrier = 1 WHERE district = own.district AND number = own.number;
        UPDATE customer SET balance = balance + 1 WHERE id = own.customer;
        sum := sum + 1;
    END LOOP;
    RETURN sum;
END $$;

CREATE FUNCTION stock_level(low int) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM stock WHERE quantity < low AND md5(data) > '8'
$$;
VACUUM ANALYZE;
